//! The pauses of the workload, kept to microseconds.

use rustix::fd::OwnedFd;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use std::time::Duration;
use tokio::io::Interest;
use tokio::io::unix::{AsyncFd, AsyncFdRegisterError};

/// A timer of the kernel's for one user: tokio's own count milliseconds, and are up to two of them late.
#[derive(Debug)]
pub(crate) struct Alarm(AsyncFd<OwnedFd>);

impl Alarm {
    /// Belongs into a runtime.
    ///
    /// # Errors
    /// One sentence, when the system has no more timers to give.
    pub(crate) fn new() -> Result<Self, String> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags).map_err(std::io::Error::from);
        let alarm = timer.and_then(|timer| registered(timer).map_err(Into::into));
        alarm.map(Self).map_err(|error| {
            format!("cannot make a timer for each user: {error}; fewer users, or a higher `ulimit -n`")
        })
    }

    /// Waits as long, never less.
    ///
    /// # Panics
    /// When the system no longer knows the timer, which ends the user.
    pub(crate) async fn wait(&self, time: Duration) {
        if time.is_zero() {
            return; // the kernel would take it for never
        }
        timerfd_settime(&self.0, TimerfdTimerFlags::empty(), &once_after(time)).expect("a timer can be set");
        let mut times = [0; 8];
        let rung = self.0.async_io(Interest::READABLE, |timer| {
            rustix::io::read(timer, &mut times).map_err(Into::into)
        });
        rung.await.expect("a timer can be read");
    }
}

#[expect(unsafe_code, reason = "tokio has no other way to wait for a descriptor")]
fn registered(timer: OwnedFd) -> Result<AsyncFd<OwnedFd>, AsyncFdRegisterError<OwnedFd>> {
    // SAFETY: an `OwnedFd` has one descriptor, and keeps it open, as long as it lives.
    unsafe { AsyncFd::register_with_interest(timer, Interest::READABLE) }
}

fn once_after(time: Duration) -> Itimerspec {
    let never_again = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    Itimerspec {
        it_interval: never_again,
        it_value: Timespec {
            tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(time.subsec_nanos()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    fn runtime() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap()
    }

    #[test]
    fn an_alarm_is_never_early_and_can_be_set_again() {
        runtime().block_on(async {
            let alarm = Alarm::new().unwrap();
            for micros in [0, 1, 300, 1_700] {
                let (time, began) = (Duration::from_micros(micros), Instant::now());
                alarm.wait(time).await;
                assert!(began.elapsed() >= time, "{micros} us");
            }
        });
    }

    #[test]
    fn a_pause_that_was_given_up_does_not_end_the_next_one() {
        runtime().block_on(async {
            let alarm = Alarm::new().unwrap();
            let brief = Duration::from_millis(1);
            let _ = tokio::time::timeout(brief, alarm.wait(brief * 2)).await;
            tokio::time::sleep(brief * 3).await;
            let began = Instant::now();
            alarm.wait(brief * 5).await;
            assert!(began.elapsed() >= brief * 5);
        });
    }
}
