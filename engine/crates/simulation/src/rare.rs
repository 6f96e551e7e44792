//! Paths of a simulated round towards a rare event, as splitting follows them.

use crate::model::Model;
use crate::runtime::Simulated;
use crate::splitting::{Followed, Walk};
use crate::watch::{RareEvent, Span, Watch};
use patternbench_attemptlog::{AttemptLog, Settings};
use patternbench_load::job::Job;
use patternbench_load::run_in;
use std::path::Path;
use std::sync::Arc;

/// The question how probable an event is within a round: the load, the system, the event.
pub struct Question<'a> {
    /// The job, as it is written.
    pub job: &'a str,
    /// The folder from which the paths of its files begin.
    pub folder: &'a Path,
    /// The system.
    pub model: &'a Model,
    /// The event.
    pub event: RareEvent,
}

impl Question<'_> {
    fn parsed(&self, seed: u64) -> Result<Job, String> {
        let job = Job::parse(self.job, self.folder).map_err(|problems| {
            let texts = problems
                .iter()
                .map(|one| format!("{}: {}; allowed: {}", one.path, one.message, one.allowed));
            texts.collect::<Vec<_>>().join("; ")
        })?;
        Ok(Job { seed, ..job })
    }
}

impl Walk for Question<'_> {
    fn follow(&self, levels: &[u64], seeds: &[u64]) -> Result<Followed, String> {
        let first = seeds.first().copied().unwrap_or(self.model.seed);
        let job = self.parsed(first)?;
        let span = Span {
            from: job.warm_up,
            to: job.warm_up.saturating_add(job.duration),
        };
        let log = AttemptLog::start(Settings {
            file: None,
            groups: job.groups.iter().map(|group| group.name.clone()).collect(),
            steps: job.step_names.clone(),
            journeys: false,
            observer: None,
        })
        .map_err(|error| error.0)?;
        let watch = Watch::new(self.event.what, Arc::from(levels), seeds, span);
        let (stop, seen) = (watch.stop(), watch.seen());
        let runtime = Simulated::watching(self.model, first, watch);
        run_in(runtime, job, log, &stop).map_err(|error| error.0)?;
        let seen = seen.borrow();
        Ok(Followed {
            reached: seen.crossed.len() == seeds.len(),
            highest: seen.highest,
        })
    }
}
