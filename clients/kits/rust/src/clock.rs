//! The clocks of a round: the time since its start, and the time that this process has computed.

use rustix::time::{ClockId, clock_gettime};
use std::time::{Duration, Instant};

/// The time since a round's start.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock(Instant);

impl Clock {
    /// The clock of a round that starts now.
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    pub(crate) fn elapsed_us(self) -> u64 {
        u64::try_from(self.0.elapsed().as_micros()).unwrap_or(u64::MAX)
    }
}

/// The time that this process has spent computing.
pub(crate) fn process_cpu() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    let nanos = u32::try_from(time.tv_nsec).unwrap_or(0);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), nanos)
}
