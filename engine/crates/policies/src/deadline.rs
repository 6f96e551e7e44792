//! The end of a call's time, counted from its intended start, independent of any wait before it was sent.

/// The configuration of a deadline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// The time from the call's intended start; above 0.
    pub after_us: u64,
}

impl Config {
    /// When a call that was intended to begin at `intended_us` is over.
    #[must_use]
    pub fn due_us(&self, intended_us: u64) -> u64 {
        intended_us.saturating_add(self.after_us)
    }

    /// Whether it makes no more sense to send anything.
    #[must_use]
    pub fn has_passed(&self, intended_us: u64, now_us: u64) -> bool {
        now_us >= self.due_us(intended_us)
    }
}
