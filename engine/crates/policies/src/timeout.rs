//! How long the layers inside may take, each time they are entered.

/// The configuration of a timeout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// The time that is allowed; above 0.
    pub after_us: u64,
}

impl Config {
    /// When what is entered at `now_us` is over.
    #[must_use]
    pub fn due_us(&self, now_us: u64) -> u64 {
        now_us.saturating_add(self.after_us)
    }
}
