//! Clocks of the machine, for what a round costs and when it began.

use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// The machine's monotonic clock.
pub fn monotonic() -> Duration {
    read(ClockId::Monotonic)
}

/// The CPU time that this thread has used.
pub fn thread_cpu() -> Duration {
    read(ClockId::ThreadCPUTime)
}

/// The CPU time that this process has used, in all its threads.
pub fn process_cpu() -> Duration {
    read(ClockId::ProcessCPUTime)
}

fn read(id: ClockId) -> Duration {
    let time = clock_gettime(id);
    Duration::new(
        time.tv_sec.unsigned_abs(),
        u32::try_from(time.tv_nsec).unwrap_or(0),
    )
}
