//! What a journey is where several generators make a load: its place in the whole load says so.
//!
//! A generator that makes all of a load counts journeys as they begin. One that makes a part of it can't see those of the
//! others. It knows the place of each of its own journeys in the whole load, so that all parts together do what one
//! generator would: the same journeys, lines of feeders, and numbers of calls.

use super::spread::Dealt;
use crate::job::{Closed, Feeder, Group, Job, Journey, Workload};
use patternbench_schedule::Part;
use rand_core::Rng;
use rand_pcg::Pcg64;
use rand_pcg::rand_core::SeedableRng;

/// The load of a group of which only a part is made here.
pub struct Split {
    journeys: Dealt,
    /// After how many turns journeys are taken in the same order again.
    period: u64,
    /// How many calls a journey takes at most.
    longest: u64,
    /// How many closed users there are in the whole load.
    users: u64,
    /// Where lines of the feeder that are drawn come from.
    lines: Pcg64,
}

impl Split {
    /// The split load of each group of a job; none where all of it is made here.
    pub fn of_groups(job: &Job) -> Vec<Option<Self>> {
        let mut drawing = 0;
        let split = job.groups.iter().map(|group| {
            let split = Self::new(group, job.part, job.seed ^ stream(drawing));
            drawing += u64::from(group.feeder.random);
            split
        });
        split.collect()
    }

    fn new(group: &Group, part: Part, seed: u64) -> Option<Self> {
        let weights = || group.journeys.iter().map(|journey| journey.weight);
        (!part.is_whole()).then(|| Self {
            journeys: Dealt::new(weights()),
            period: period(weights()),
            longest: group.journeys.iter().map(Journey::longest).max().unwrap_or(1),
            users: match &group.workload {
                Workload::Closed(Closed { users, .. }) => u64::from(*users),
                Workload::Open(_) => 0,
            },
            lines: Pcg64::seed_from_u64(seed),
        })
    }

    /// The turn of a user's next journey, where each user takes one before any takes the next.
    pub fn turn_of_user(&self, user: u32, begun: u64) -> u64 {
        begun.wrapping_mul(self.users).wrapping_add(u64::from(user))
    }

    /// The journey whose turn it is.
    pub fn journey(&mut self, turn: u64) -> usize {
        self.journeys.of((turn % self.period) as u32)
    }

    /// The line of the feeder for a turn.
    pub fn line(&self, feeder: &Feeder, turn: u64) -> usize {
        let lines = feeder.lines.len().max(1) as u64;
        if !feeder.random {
            return (turn % lines) as usize;
        }
        let mut random = self.lines.clone();
        random.advance(u128::from(turn));
        (random.next_u64() % lines) as usize
    }

    /// The number of the first call of an arrival before which others came as the same user.
    pub fn first_call(&self, before: u64) -> u32 {
        before.wrapping_mul(self.longest) as u32
    }
}

/// The first group that draws lines has the stream of a load that isn't split; others have their own.
fn stream(drawing: u64) -> u64 {
    drawing.wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// After how many turns a spread over weights begins anew.
fn period(weights: impl Iterator<Item = u32>) -> u64 {
    let (sum, divisor) = weights.fold((0, 0), |(sum, divisor), weight| {
        (
            sum + u64::from(weight),
            common_divisor(divisor, u64::from(weight)),
        )
    });
    (sum / divisor.max(1)).max(1)
}

fn common_divisor(one: u64, other: u64) -> u64 {
    if other == 0 {
        one
    } else {
        common_divisor(other, one % other)
    }
}

#[cfg(test)]
mod tests {
    use super::super::spread::Spread;
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn journeys_come_in_the_order_of_their_spread_also_after_its_period(
            weights in proptest::collection::vec(0u32..20, 1..6), scale in 1u32..1000,
        ) {
            prop_assume!(weights.iter().any(|weight| *weight > 0));
            let scaled = || weights.iter().map(|weight| weight * scale);
            let (mut spread, mut dealt) = (Spread::new(scaled()), Dealt::new(scaled()));
            let period = period(scaled());
            prop_assert!(period <= weights.iter().map(|weight| u64::from(*weight)).sum());
            for turn in 0..3 * period {
                prop_assert_eq!(dealt.of((turn % period) as u32), spread.next());
            }
        }
    }
}
