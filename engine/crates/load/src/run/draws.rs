//! What a round's templates and feeders draw: counters, and random numbers from the job's seed.

use super::session::GroupState;
use crate::job::{Feeder, Job};
use rand_pcg::Pcg64;
use rand_pcg::rand_core::SeedableRng;

/// The counters and the random numbers of a round.
pub struct Draws {
    counters: Vec<u64>,
    random: Pcg64,
}

impl Draws {
    pub fn new(job: &Job) -> Self {
        Self {
            counters: vec![0; job.counters],
            random: Pcg64::seed_from_u64(job.seed),
        }
    }

    /// The line of a group's feeder for its next journey.
    pub fn line(&mut self, group: &mut GroupState, feeder: &Feeder) -> usize {
        group.feed(feeder, &mut self.random)
    }

    /// The counters and the random source, for a template that is filled in.
    pub fn sources(&mut self) -> (&mut [u64], &mut Pcg64) {
        (&mut self.counters, &mut self.random)
    }
}
