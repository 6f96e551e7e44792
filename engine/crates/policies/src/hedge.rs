//! When to send a second attempt while the first is under way. The first good answer counts, the others are cancelled.

/// The configuration of hedging.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// How many may be sent at most, the first included; at least 1.
    pub max_attempts: u32,
    /// How long nothing may have been heard before the next is sent.
    pub delay_us: u64,
}

impl Config {
    /// When the next one is due after `sent` of them, the last at `now_us`; `None` when that was the last.
    #[must_use]
    pub fn next_us(&self, sent: u32, now_us: u64) -> Option<u64> {
        (sent < self.max_attempts).then(|| now_us.saturating_add(self.delay_us))
    }
}
