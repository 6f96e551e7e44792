//! How long to wait before the next attempt of a call.

use rand_core::Rng;

/// The delays between the attempts of one call, before jitter. Microseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Backoff {
    /// The same delay before every further attempt.
    Fixed {
        /// The delay.
        delay_us: u64,
    },
    /// A delay that grows by the same amount each time.
    Linear {
        /// Before the second attempt.
        initial_us: u64,
        /// Added before each attempt after that.
        increment_us: u64,
        /// No delay is longer than this.
        max_us: Option<u64>,
    },
    /// A delay that grows by the same factor each time.
    Exponential {
        /// Before the second attempt.
        initial_us: u64,
        /// At least 1; what is smaller counts as 1.
        multiplier: f64,
        /// No delay is longer than this.
        max_us: Option<u64>,
    },
}

impl Backoff {
    /// The delay before attempt `failed_attempts + 1`, before jitter, in microseconds.
    ///
    /// `failed_attempts` counts from 1: the attempts of the call so far. With 0 there is nothing to wait for. What
    /// would not fit is the longest representable time, never a short one.
    pub fn delay_us(&self, failed_attempts: u32) -> u64 {
        let Some(steps) = failed_attempts.checked_sub(1) else {
            return 0;
        };
        match *self {
            Self::Fixed { delay_us } => delay_us,
            Self::Linear {
                initial_us,
                increment_us,
                max_us,
            } => {
                let delay = initial_us.saturating_add(increment_us.saturating_mul(u64::from(steps)));
                at_most(delay, max_us)
            }
            Self::Exponential {
                initial_us,
                multiplier,
                max_us,
            } => {
                // A float beyond u64 saturates when it is cast; powi of a huge count is infinity, 0 * infinity is NaN.
                let grown = initial_us as f64 * multiplier.max(1.0).powi(steps.min(i32::MAX as u32) as i32);
                let delay = if initial_us == 0 { 0 } else { grown.round() as u64 };
                at_most(delay, max_us)
            }
        }
    }
}

fn at_most(delay_us: u64, max_us: Option<u64>) -> u64 {
    max_us.map_or(delay_us, |max| delay_us.min(max))
}

/// What chance does to a delay, so that clients that failed together do not come back together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Jitter {
    /// The delay itself.
    None,
    /// Uniform from zero to the delay.
    Full,
    /// Half of the delay, and uniform from zero to the other half.
    Equal,
    /// Uniform within this share of the delay on either side; from 0 to 1. It may pass the cap of the back-off,
    /// which holds before jitter.
    Proportional(f64),
}

impl Jitter {
    /// The delay to wait for, in microseconds, with one draw from `rng` (none for [`Jitter::None`]).
    pub fn apply_us(&self, delay_us: u64, rng: &mut impl Rng) -> u64 {
        let delay = delay_us as f64;
        match *self {
            Self::None => delay_us,
            Self::Full => (delay * share(rng)).round() as u64,
            Self::Equal => (delay * (0.5 + 0.5 * share(rng))).round() as u64,
            Self::Proportional(j) => (delay * (1.0 - j + 2.0 * j * share(rng))).round() as u64,
        }
    }
}

/// Uniform from 0 to 1, 1 left out: the 53 bits that a float can hold.
fn share(rng: &mut impl Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}
