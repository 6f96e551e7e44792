//! How many may go out per time: the generic cell rate algorithm (ITU-T I.371), in whole numbers.
//!
//! A bucket of `burst` cells, one of which becomes free every `per_us / calls`. Times are kept multiplied by `calls`,
//! so that no division rounds: in any span of `t` microseconds at most `burst + t * calls / per_us` go out.

/// The configuration of a [`RateLimit`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// This many calls; at least 1.
    pub calls: u32,
    /// Per this many microseconds; at least 1.
    pub per_us: u64,
    /// How many may go out at once; at least 1.
    pub burst: u32,
    /// How long one may wait for its turn; what would have to wait longer is rejected.
    pub max_wait_us: u64,
}

/// A rate limit whose caller passes the time.
#[derive(Debug)]
pub struct RateLimit {
    config: Config,
    /// When the bucket is empty again, times `calls`.
    empty_at: u128,
}

impl RateLimit {
    /// One that no one has used.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self { config, empty_at: 0 }
    }

    /// When what comes at `now_us` may go out: a moment that is reserved for it, or `None`. It does not go out at
    /// `bound_us` or later.
    #[must_use]
    pub fn reserve(&mut self, now_us: u64, bound_us: u64) -> Option<u64> {
        let (calls, cell) = (u128::from(self.config.calls), u128::from(self.config.per_us));
        let now = u128::from(now_us) * calls;
        let begins = self.empty_at.max(now);
        let room = cell * u128::from(self.config.burst - 1);
        let at_us = u64::try_from(begins.saturating_sub(room).max(now).div_ceil(calls)).ok()?;
        if at_us - now_us > self.config.max_wait_us || at_us >= bound_us {
            return None;
        }
        self.empty_at = begins + cell;
        Some(at_us)
    }
}
