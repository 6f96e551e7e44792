//! How many further attempts all calls together may make, so that retries don't multiply the load of a server in trouble.
//!
//! A bucket of tokens that starts full: each call's first attempt puts in `ratio` tokens, time puts in `min_per_s` a
//! second, and each further attempt takes out one. So in any span of time further attempts are at most
//! `capacity + ratio * first attempts + min_per_s * seconds`.

/// One token, in the unit of the sums: at a rate of one token a second, one unit comes in each microsecond.
const TOKEN: u64 = 1_000_000;

/// The configuration of a [`Budget`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Config {
    /// Further attempts that each first attempt allows; 0.2 for one in five.
    pub ratio: f64,
    /// Further attempts that each second allows.
    pub min_per_s: u32,
    /// The most tokens that can be saved up; at least 1.
    pub capacity: u32,
}

/// A budget whose caller passes the time.
#[derive(Debug)]
pub struct Budget {
    config: Config,
    balance: u64,
    at_us: u64,
}

impl Budget {
    /// A full one.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self {
            config,
            balance: u64::from(config.capacity) * TOKEN,
            at_us: 0,
        }
    }

    /// Counts a first attempt.
    pub fn earn(&mut self, now_us: u64) {
        self.refill(now_us);
        // What ratios allow is far below where a float loses whole numbers.
        self.put((self.config.ratio * TOKEN as f64).round() as u64);
    }

    /// Whether a further attempt may be made; takes its token when so.
    #[must_use]
    pub fn spend(&mut self, now_us: u64) -> bool {
        self.refill(now_us);
        let left = self.balance.checked_sub(TOKEN);
        self.balance = left.unwrap_or(self.balance);
        left.is_some()
    }

    fn refill(&mut self, now_us: u64) {
        let passed = now_us.saturating_sub(self.at_us);
        self.at_us = self.at_us.max(now_us);
        self.put(passed.saturating_mul(u64::from(self.config.min_per_s)));
    }

    fn put(&mut self, more: u64) {
        let full = u64::from(self.config.capacity) * TOKEN;
        self.balance = self.balance.saturating_add(more).min(full);
    }
}
