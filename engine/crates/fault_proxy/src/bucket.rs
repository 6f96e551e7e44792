//! A token bucket: how many bytes may pass now, or when some may. Pure; the time is an argument.

use patternbench_timing::{Nanos, S};

/// How much may pass at once, as time at the bandwidth: short, so that a slow link is slow evenly.
const SIP: Nanos = S / 200;
/// What passes at once when nothing limits it.
const MOST: usize = 64 * 1024;

/// The bandwidth of a direction, and when it is free again.
#[derive(Default)]
pub struct Bucket {
    bytes_per_s: Option<f64>,
    free_at: Nanos,
}

impl Bucket {
    /// Sets the bandwidth; `None` means unlimited.
    pub fn limit(&mut self, bytes_per_s: Option<f64>) {
        if self.bytes_per_s != bytes_per_s {
            (self.bytes_per_s, self.free_at) = (bytes_per_s, 0);
        }
    }

    /// How many bytes may pass now.
    ///
    /// # Errors
    /// The moment at which some may.
    pub fn allowed(&self, now: Nanos) -> Result<usize, Nanos> {
        match self.bytes_per_s {
            None => Ok(MOST),
            Some(_) if self.free_at > now => Err(self.free_at),
            Some(rate) => Ok(((rate * SIP as f64 / S as f64) as usize).clamp(1, MOST)),
        }
    }

    /// Takes note of bytes that have passed. Time that was slept through is made up for, up to a sip.
    pub fn passed(&mut self, bytes: usize, now: Nanos) {
        if let Some(rate) = self.bytes_per_s {
            let taken = (bytes as f64 / rate * S as f64).round() as Nanos;
            self.free_at = self.free_at.max(now.saturating_sub(SIP)) + taken;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How long this many bytes take if the sender always wakes `late` after the moment that it was given.
    fn time_for(bytes: usize, rate: f64, late: Nanos) -> Nanos {
        let mut bucket = Bucket::default();
        bucket.limit(Some(rate));
        let (mut now, mut left) = (S, bytes);
        while left > 0 {
            match bucket.allowed(now) {
                Ok(most) => {
                    bucket.passed(most.min(left), now);
                    left -= most.min(left);
                }
                Err(free_at) => now = free_at + late,
            }
        }
        now - S
    }

    #[test]
    fn bytes_pass_at_the_bandwidth_whoever_is_late() {
        for (bytes, rate) in [
            (100_000, 50_000.0),
            (1_000, 3.0 * 1024.0),
            (10, 1.0),
            (50_000_000, 10e6),
        ] {
            for late in [0, S / 10_000, S / 500] {
                let (took, wanted) = (time_for(bytes, rate, late) as f64, bytes as f64 / rate * S as f64);
                let edge = 2.0 * SIP as f64 + S as f64 / rate + late as f64;
                assert!(
                    (took - wanted).abs() <= edge,
                    "{bytes} at {rate}: {took}, not {wanted}"
                );
            }
        }
    }

    #[test]
    fn without_a_bandwidth_nothing_is_held() {
        let mut bucket = Bucket::default();
        bucket.passed(1_000_000, 5);
        assert_eq!(bucket.allowed(5), Ok(MOST));
    }

    #[test]
    fn a_bandwidth_that_ends_leaves_nothing_behind() {
        let mut bucket = Bucket::default();
        bucket.limit(Some(1.0));
        bucket.passed(1000, 5);
        assert!(bucket.allowed(6).is_err());
        bucket.limit(None);
        assert_eq!(bucket.allowed(6), Ok(MOST));
    }
}
