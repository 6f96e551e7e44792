//! What a round's templates and feeders draw: counters, and random numbers from the job's seed.

use super::session::GroupState;
use crate::job::{Feeder, Job};
use crate::template::Counters;
use rand_pcg::Pcg64;
use rand_pcg::rand_core::SeedableRng;

/// The counters and the random numbers of a round.
pub struct Draws {
    counters: Counters,
    random: Pcg64,
}

impl Draws {
    pub fn new(job: &Job) -> Self {
        Self {
            counters: Counters::new(job.counters, job.part),
            random: Pcg64::seed_from_u64(job.part.own_seed(job.seed)),
        }
    }

    /// Draws from another seed from now on.
    pub fn reseed(&mut self, seed: u64) {
        self.random = Pcg64::seed_from_u64(seed);
    }

    /// The line of a group's feeder for its next journey, or for the one of a turn where the load is split.
    pub fn line(&mut self, group: &mut GroupState, feeder: &Feeder, turn: u64) -> usize {
        group.feed(feeder, &mut self.random, turn)
    }

    /// The counters and the random source, for a template that is filled in.
    pub fn sources(&mut self) -> (&mut Counters, &mut Pcg64) {
        (&mut self.counters, &mut self.random)
    }
}
