//! One round of load: an event loop in one thread.
//!
//! Sessions (virtual users, or arrivals in flight) are state machines. A session is woken by the clock or by a
//! connection, decides what comes next, and goes back to waiting; nothing blocks, and nothing spins. What they know of
//! time and of connections comes from a [`Runtime`], so that the same code runs on sockets and in simulated time.
//!
//! `runner` is a round while it runs. Its parts keep their own data: `links` (connections), `population` (sessions and
//! their groups), `arrivals` (schedules), `timers`, `guarded` (policies), `timing` (warm-up and end), `patience` (when
//! answers are read), `totals`, `draws` and `trace`. What happens to it is one file per matter below `runner`: `turn`
//! (the loop), `users`, `arriving`, `attempts`, `answers`, `redirects`, `policies`, `telling`.

mod arrivals;
pub mod clock;
mod draws;
mod epoll;
mod finished;
mod guarded;
mod links;
mod patience;
mod placement;
mod population;
mod runner;
mod runtime;
mod session;
mod split;
mod spread;
mod timers;
mod timing;
mod totals;
mod trace;
mod verdict;
mod warm_up;
mod wires;

pub use epoll::Epoll;
pub use finished::{Finished, Generator, RunError};
pub use runtime::{Exchange, Runtime};
pub use totals::Totals;

use crate::job::Job;
use patternbench_attemptlog::AttemptLog;
use runner::Runner;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// Runs a job's load on this machine to its end, or until `stop` becomes true.
///
/// # Errors
/// When the log can't be written or the operating system refuses to continue. What servers do is never an error here.
pub fn run(job: Job, log: AttemptLog, stop: &AtomicBool) -> Result<Finished, RunError> {
    run_from(job, log, None, stop)
}

/// The same, from a moment to come on.
///
/// # Errors
/// As for [`run()`].
pub fn run_from(
    mut job: Job,
    log: AttemptLog,
    begins: Option<Instant>,
    stop: &AtomicBool,
) -> Result<Finished, RunError> {
    sharpen_timers();
    let placement = placement::take(job.core, job.priority);
    let runtime = Epoll::new(job.limits)?
        .beginning(begins)
        .stamped(patience::ends_with_answers(&job));
    let mut runner = Runner::new(&mut job, log, runtime);
    runner.start_clock();
    // The wall's time encloses the CPU's, and both leave out what writing the log's rest costs.
    let (here, cpu_before) = (clock::monotonic(), clock::thread_cpu());
    let began = here.saturating_sub(Duration::from_nanos(runner.now()));
    drive(&mut runner, &job, stop)?;
    let cpu = clock::thread_cpu().saturating_sub(cpu_before);
    let generator = Generator {
        cpu,
        wall: clock::monotonic().saturating_sub(began),
        placement,
        began,
    };
    Ok(Finished {
        generator,
        ..runner.finish(&job)?
    })
}

/// Runs a job's load on a runtime to its end, or until `stop` becomes true.
///
/// # Errors
/// When the log can't be written or the runtime refuses to continue.
pub fn run_in<W: Runtime>(
    runtime: W,
    mut job: Job,
    log: AttemptLog,
    stop: &AtomicBool,
) -> Result<Finished, RunError> {
    let mut runner = Runner::new(&mut job, log, runtime);
    runner.start_clock();
    drive(&mut runner, &job, stop)?;
    runner.finish(&job)
}

fn drive<W: Runtime>(runner: &mut Runner<W>, job: &Job, stop: &AtomicBool) -> Result<(), RunError> {
    runner.begin(job);
    runner.turn(job, stop)
}

/// The kernel may wake a thread up to 50 µs late to save power, unless it is asked not to.
fn sharpen_timers() {
    // Without it timers are a little late, and that is measured.
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
}
