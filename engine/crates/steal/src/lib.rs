//! Steals CPU time from a family of processes: keeps them off the processors for a share of each period.
//!
//! The kernel does the same to the virtual machines of a busy host, and to a group that has used up its quota. It
//! steals time on the clock: a process that would have slept meanwhile loses nothing.

#![forbid(unsafe_code)]

use patternbench_guard::descendants;
use patternbench_timing::{Nanos, now, sharpen, sleep_until};
use rustix::process::{Pid, Signal, kill_process};
use std::sync::atomic::{AtomicBool, Ordering};

/// How often the family is looked up again; a process that starts in between keeps its time until then.
const LOOK: Nanos = 100_000_000;

/// What is stolen, and from whom.
pub struct Settings {
    /// Whose descendants are stopped; it is not itself.
    pub of: Pid,
    /// The part of each period, from 0 to 1.
    pub share: f64,
    /// How long a period is.
    pub period: Nanos,
}

/// What was stolen, on the monotonic clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Loot {
    /// When stealing began.
    pub began: Nanos,
    /// When it was over, and everybody awake.
    pub ended: Nanos,
    /// How long the family was stopped in between.
    pub stolen: Nanos,
}

/// Steals until `stop` becomes true; `begun` hears when it begins. Everybody is awake when this returns.
pub fn steal(settings: &Settings, stop: &AtomicBool, begun: impl FnOnce(Nanos)) -> Loot {
    sharpen();
    let began = now();
    begun(began);
    let (mut stolen, mut period_began) = (0, began);
    let (mut family, mut looked) = (descendants::of(settings.of), began);
    let length = (settings.period as f64 * settings.share).round() as Nanos;
    while !stop.load(Ordering::Relaxed) {
        stolen += stop_until(&family, period_began + length);
        if now() > looked + LOOK {
            (family, looked) = (descendants::of(settings.of), now());
        }
        sleep_until(period_began + settings.period);
        // A period that was overslept is not made up for: two thefts in a row would be a longer one.
        period_began = now().max(period_began + settings.period);
    }
    Loot {
        began,
        ended: now(),
        stolen,
    }
}

/// Stops a family until a moment; how long it was stopped.
fn stop_until(family: &[Pid], moment: Nanos) -> Nanos {
    let stopped = now();
    tell(family, Signal::STOP);
    sleep_until(moment);
    tell(family, Signal::CONT);
    now() - stopped
}

/// Those that have ended meanwhile need no signal.
fn tell(family: &[Pid], signal: Signal) {
    for pid in family {
        let _ = kill_process(*pid, signal);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::getpid;
    use std::process::{Child, Command};
    use std::thread;
    use std::time::Duration;

    /// A shell that counts for ever.
    fn busy() -> Child {
        Command::new("sh")
            .args(["-c", "while :; do :; done"])
            .spawn()
            .unwrap()
    }

    #[test]
    fn the_share_of_the_time_is_stolen_and_everybody_is_awake_afterwards() {
        let mut child = busy();
        let stop = AtomicBool::new(false);
        let settings = Settings {
            of: getpid(),
            share: 0.5,
            period: 10_000_000,
        };
        let (loot, told) = thread::scope(|scope| {
            let thief = scope.spawn(|| steal(&settings, &stop, |_| {}));
            thread::sleep(Duration::from_millis(500));
            let told = now();
            stop.store(true, Ordering::Relaxed);
            (thief.join().unwrap(), told)
        });
        let state = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        let share = loot.stolen as f64 / (loot.ended - loot.began) as f64;
        assert!((0.3..0.7).contains(&share), "{share}");
        assert!(loot.ended >= told, "the theft goes on until it is told to stop");
        assert!(!state.contains(") T "), "{state}");
    }
}
