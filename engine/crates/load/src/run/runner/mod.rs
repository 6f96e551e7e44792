//! A round while it runs: the parts that it is made of, and one file for each matter that happens to it.

mod answers;
mod arriving;
mod attempts;
mod policies;
mod redirects;
mod telling;
mod turn;
mod users;

use super::arrivals::Schedules;
use super::draws::Draws;
use super::guarded::Policies;
use super::links::Links;
use super::patience::Patience;
use super::population::Population;
use super::runtime::Runtime;
use super::timers::Timers;
use super::timing::Timing;
use super::totals::Totals;
use super::trace::Trace;
use crate::job::Job;
use crate::units::Nanos;
use patternbench_attemptlog::AttemptLog;

/// A round while it runs.
pub struct Runner<W: Runtime> {
    links: Links<W>,
    population: Population,
    schedules: Schedules,
    timers: Timers,
    /// What calls have to go through, when there is anything.
    policies: Option<Box<Policies>>,
    timing: Timing,
    patience: Patience,
    totals: Totals,
    draws: Draws,
    log: AttemptLog,
    /// The attempts that are reported one by one, if the job asks for that.
    trace: Option<Box<Trace>>,
    interrupted: bool,
}

impl<W: Runtime> Runner<W> {
    pub fn new(job: &mut Job, log: AttemptLog, runtime: W) -> Self {
        Self {
            links: Links::new(job, runtime),
            population: Population::new(job),
            schedules: Schedules::new(job),
            timers: Timers::default(),
            policies: Policies::new(job),
            timing: Timing::new(job),
            patience: Patience::new(job),
            totals: Totals::default(),
            draws: Draws::new(job),
            log,
            trace: Trace::new(job.trace),
            interrupted: false,
        }
    }

    /// Nanoseconds since the round's start.
    #[inline]
    pub fn now(&self) -> Nanos {
        self.links.now()
    }
}
