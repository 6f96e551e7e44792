//! Where the thread that drives the load runs, and how urgently: what it waits for a core is an error in what it
//! measures.

use rustix::process::{getpriority_process, setpriority_process};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The most urgent niceness there is.
const MOST_URGENT: i32 = -20;
/// Where Linux takes the niceness of a session as a whole: with automatic groups that of a thread counts only inside
/// its session.
const AUTOGROUP: &str = "/proc/self/autogroup";
/// Can be opened only in the session of a terminal.
const TERMINAL: &str = "/dev/tty";

/// What came of the wishes for a core and for priority.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Placement {
    /// The only core that the thread may run on, when it is bound to one.
    pub core: Option<usize>,
    /// The thread's niceness; -20 is the most urgent, 0 what others have.
    pub niceness: i32,
}

/// Binds the calling thread to a core and makes it urgent, as far as it is wanted and the machine allows it.
pub fn take(core: Option<usize>, priority: bool) -> Placement {
    if let Some(core) = core.filter(|core| *core < CpuSet::MAX_CPU) {
        let mut only = CpuSet::new();
        only.set(core);
        // A core that is not there, or not ours, is not taken; what was taken is read back below.
        let _ = sched_setaffinity(None, &only);
    }
    if priority {
        let _ = setpriority_process(None, MOST_URGENT);
        // The session of someone's terminal is not ours to change.
        if std::fs::File::open(TERMINAL).is_err() {
            let _ = std::fs::write(AUTOGROUP, MOST_URGENT.to_string());
        }
    }
    Placement {
        core: only_core(),
        niceness: getpriority_process(None).unwrap_or(0),
    }
}

/// The only core that the thread may run on, when there is but one.
fn only_core() -> Option<usize> {
    let allowed = sched_getaffinity(None).ok()?;
    let first = (0..CpuSet::MAX_CPU).find(|core| allowed.is_set(*core));
    first.filter(|_| allowed.count() == 1)
}
