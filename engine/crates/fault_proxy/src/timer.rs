//! An alarm clock that ends a wait for sockets, to the nanosecond as far as the scheduler allows.
//!
//! The timeout of `epoll_wait` will not do: the kernel rounds it up by a thousandth of its length.

use patternbench_timing::{Nanos, S};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use std::io;

/// One alarm at a time.
pub struct Timer {
    clock: OwnedFd,
    set: Option<Nanos>,
}

impl Timer {
    pub fn new() -> io::Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let clock = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        Ok(Self { clock, set: None })
    }

    /// Rings at a moment of the monotonic clock, at once when it has passed; None is never.
    pub fn set(&mut self, at: Option<Nanos>) -> io::Result<()> {
        if self.set != at {
            // A moment of 0 would switch it off.
            let moment = at.map_or(0, |at| at.max(1));
            let it_value = Timespec {
                tv_sec: (moment / S) as i64,
                tv_nsec: (moment % S) as _,
            };
            let once = Itimerspec {
                it_interval: Timespec {
                    tv_sec: 0,
                    tv_nsec: 0,
                },
                it_value,
            };
            timerfd_settime(&self.clock, TimerfdTimerFlags::ABSTIME, &once)?;
            self.set = at;
        }
        Ok(())
    }
}

impl AsFd for Timer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.clock.as_fd()
    }
}
