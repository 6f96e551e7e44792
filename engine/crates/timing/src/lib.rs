//! One monotonic clock, precise sleeps, and durations written with a unit.
//!
//! The clock is the machine's `CLOCK_MONOTONIC`, so times taken by several processes on one machine can be compared.

#![forbid(unsafe_code)]

mod duration;

pub use duration::{parse_duration, write_duration};

use rustix::thread::{ClockId as SleepClock, clock_nanosleep_absolute, set_current_timer_slack};
use rustix::time::{ClockId, Timespec, clock_gettime};
use std::num::NonZeroU64;

/// A moment, or a length of time, in nanoseconds.
pub type Nanos = u64;

/// Nanoseconds in a microsecond.
pub const US: Nanos = 1_000;
/// Nanoseconds in a second.
pub const S: Nanos = 1_000_000_000;

/// The time on the monotonic clock.
pub fn now() -> Nanos {
    nanos(clock_gettime(ClockId::Monotonic))
}

/// The time since 1970, for people and other machines; never for a difference of two times.
pub fn since_epoch() -> Nanos {
    nanos(clock_gettime(ClockId::Realtime))
}

/// The CPU time that this process has used so far, in all its threads.
pub fn cpu_of_process() -> Nanos {
    nanos(clock_gettime(ClockId::ProcessCPUTime))
}

/// Sleeps until the monotonic clock shows `moment`; at once when it has passed.
///
/// How late it wakes is up to [`sharpen`] and the scheduler: some 10 µs on an idle machine.
pub fn sleep_until(moment: Nanos) {
    let request = Timespec {
        tv_sec: (moment / S) as i64,
        tv_nsec: (moment % S) as _,
    };
    // An absolute sleep that a signal interrupts continues with the same request.
    while now() < moment {
        if clock_nanosleep_absolute(SleepClock::Monotonic, &request).is_ok() {
            break;
        }
    }
}

/// Asks the kernel not to delay the wake-ups of this thread, which it does by up to 50 µs by default, to save power.
///
/// Threads that it starts afterwards inherit this. Where the kernel refuses, sleeps are less precise and no worse.
pub fn sharpen() {
    let _ = set_current_timer_slack(NonZeroU64::new(1));
}

fn nanos(time: Timespec) -> Nanos {
    time.tv_sec as Nanos * S + time.tv_nsec as Nanos
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sleep_never_ends_early() {
        sharpen();
        for wait in [0, 1, 50 * US, 3_000 * US] {
            let until = now() + wait;
            sleep_until(until);
            assert!(now() >= until);
        }
    }

    #[test]
    fn a_moment_that_has_passed_is_not_slept_for() {
        sleep_until(0);
    }

    #[test]
    fn cpu_time_grows_with_work() {
        let before = cpu_of_process();
        let sum: u64 = (0..2_000_000u64).map(std::hint::black_box).sum();
        assert!(sum > 0 && cpu_of_process() > before);
    }
}
