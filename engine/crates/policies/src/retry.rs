//! Whether to try again after a failure, and when.

use crate::backoff::{Backoff, Jitter};
use crate::outcome::{Failure, Failures, Kind};
use rand_core::Rng;
use std::time::{Duration, SystemTime};

/// The configuration of a retry.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// How often it is tried at most, the first time included; at least 1.
    pub max_attempts: u32,
    /// The pauses between attempts.
    pub backoff: Backoff,
    /// What chance does to them.
    pub jitter: Jitter,
    /// What is tried again.
    pub on: Failures,
    /// The longest wait that a server asks for (`Retry-After` on 429 and 503) and that is granted. With a longer one it
    /// gives up, since coming back earlier is what the server asked not to do. `None` leaves such wishes unheard.
    pub retry_after_max_us: Option<u64>,
}

impl Config {
    /// The pause after a failure, in microseconds, or `None` to give up; `failed_attempts` counts from 1.
    ///
    /// It is the longer of the back-off with its jitter and of what the server asks for.
    pub fn pause_us(&self, failed_attempts: u32, failure: Failure, rng: &mut impl Rng) -> Option<u64> {
        if failed_attempts >= self.max_attempts || !self.on.includes(failure.kind) {
            return None;
        }
        let asked = self.asked_us(failure)?;
        let delay = self.jitter.apply_us(self.backoff.delay_us(failed_attempts), rng);
        Some(delay.max(asked))
    }

    /// What the server asks for, 0 when nothing; `None` when that is more than is granted.
    fn asked_us(&self, failure: Failure) -> Option<u64> {
        match (self.retry_after_max_us, failure.kind) {
            (Some(max), Kind::Status(429 | 503)) => {
                let asked = failure.retry_after_us.unwrap_or(0);
                (asked <= max).then_some(asked)
            }
            _ => Some(0),
        }
    }
}

/// How long a `Retry-After` header asks to wait, in microseconds; `None` when it can't be read.
///
/// It holds whole seconds or an HTTP date (RFC 9110, section 10.2.3); `today` is the time of day that the date is held
/// against. A date in the past asks for nothing.
#[must_use]
pub fn retry_after_us(value: &str, today: SystemTime) -> Option<u64> {
    let value = value.trim();
    if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
        // More seconds than fit are for ever.
        return Some(value.parse::<u64>().unwrap_or(u64::MAX).saturating_mul(1_000_000));
    }
    let date = httpdate::parse_http_date(value).ok()?;
    let wait = date.duration_since(today).unwrap_or(Duration::ZERO);
    Some(u64::try_from(wait.as_micros()).unwrap_or(u64::MAX))
}
