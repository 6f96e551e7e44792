//! A service's workers and its queue: one replica of it.

use crate::Nanos;
use crate::faults::{Faults, nanos};
use crate::model::{Order, QueueModel};
use crate::times::Times;
use rand_pcg::Pcg64;
use std::collections::VecDeque;

/// A request: its place among all that are under way, and its number, which no other has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Id {
    pub place: u32,
    pub number: u32,
}

/// What becomes of a request that a worker could take, or that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// A worker is done with it at this moment; `Nanos::MAX` for never.
    Until(Nanos),
    /// It is answered at once, with a status.
    Refused(u16),
    /// It waits.
    Waiting,
}

/// What is the same for all replicas of a service.
pub struct Rules {
    pub workers: usize,
    pub slowdown: Vec<(f64, f64)>,
    pub queue: QueueModel,
    /// How long it works, by operation.
    pub times: Vec<Times>,
}

/// What a worker needs to know when it begins: its service's rules and faults, the moment, chance.
pub struct Moment<'a> {
    pub rules: &'a Rules,
    pub faults: &'a Faults,
    pub now: Nanos,
    pub random: &'a mut Pcg64,
}

/// Who waits, since when, and what for.
struct Waits {
    id: Id,
    since: Nanos,
    operation: usize,
}

/// The workers and the queue at a moment.
#[derive(Default)]
pub struct Replica {
    busy: usize,
    waiting: VecDeque<Waits>,
}

impl Replica {
    /// How many requests it has.
    pub fn load(&self) -> usize {
        self.busy + self.waiting.len()
    }

    /// How many wait for a worker.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// A request comes.
    pub fn arrive(&mut self, id: Id, operation: usize, at: &mut Moment<'_>) -> Taken {
        let queue = &at.rules.queue;
        if self.busy < at.rules.workers {
            return self.begin(operation, at);
        }
        if queue.limit.is_some_and(|limit| self.waiting.len() >= limit) {
            return Taken::Refused(queue.full_status);
        }
        let since = at.now;
        self.waiting.push_back(Waits { id, since, operation });
        Taken::Waiting
    }

    /// A worker is done; it takes the next one that waits, if there is one, and says what becomes of that.
    pub fn next(&mut self, at: &mut Moment<'_>) -> Option<(Id, Taken)> {
        self.busy -= 1;
        let queue = &at.rules.queue;
        let next = match queue.order {
            Order::Fifo => self.waiting.pop_front(),
            Order::Lifo => self.waiting.pop_back(),
        }?;
        let waited = at.now - next.since;
        if queue.deadline_us.is_some_and(|most| waited > nanos(most)) {
            // The worker is as free as before: whoever asks goes on with the one after it.
            self.busy += 1;
            return Some((next.id, Taken::Refused(queue.full_status)));
        }
        Some((next.id, self.begin(next.operation, at)))
    }

    /// Everything is lost.
    pub fn crash(&mut self) {
        *self = Self::default();
    }

    fn begin(&mut self, operation: usize, at: &mut Moment<'_>) -> Taken {
        self.busy += 1;
        let work = at.rules.times[operation].draw(at.random) * factor(&at.rules.slowdown, self.busy as f64);
        Taken::Until(at.faults.done(at.now, work))
    }
}

/// The factor at a number of requests that are being worked on; 1 where nothing is said.
fn factor(points: &[(f64, f64)], busy: f64) -> f64 {
    let after = points.partition_point(|point| point.0 <= busy);
    match (
        after.checked_sub(1).map(|before| points[before]),
        points.get(after),
    ) {
        (Some((low, from)), Some((high, to))) => from + (to - from) * (busy - low) / (high - low),
        (Some((_, last)), None) => last,
        (None, Some((_, first))) => *first,
        (None, None) => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::SeedableRng;

    struct One {
        rules: Rules,
        replica: Replica,
        random: Pcg64,
    }

    impl One {
        fn with(queue: QueueModel) -> Self {
            let rules = Rules {
                workers: 1,
                slowdown: vec![(1.0, 1.0), (3.0, 2.0)],
                queue,
                times: vec![Times::Fixed(10.0)],
            };
            Self {
                rules,
                replica: Replica::default(),
                random: Pcg64::seed_from_u64(1),
            }
        }

        fn arrive(&mut self, number: u32, now: Nanos) -> Taken {
            let mut at = Moment {
                rules: &self.rules,
                faults: &Faults::default(),
                now,
                random: &mut self.random,
            };
            self.replica.arrive(id(number), 0, &mut at)
        }

        fn next(&mut self, now: Nanos) -> Option<(Id, Taken)> {
            let mut at = Moment {
                rules: &self.rules,
                faults: &Faults::default(),
                now,
                random: &mut self.random,
            };
            self.replica.next(&mut at)
        }
    }

    fn id(number: u32) -> Id {
        Id { place: 0, number }
    }

    #[test]
    fn who_waits_is_taken_in_the_queues_order() {
        for (order, numbers) in [(Order::Fifo, [1, 2, 3]), (Order::Lifo, [3, 2, 1])] {
            let mut one = One::with(QueueModel {
                order,
                ..QueueModel::default()
            });
            assert_eq!(one.arrive(0, 0), Taken::Until(10_000));
            assert!((1..=3).all(|number| one.arrive(number, 0) == Taken::Waiting));
            for (turn, wanted) in (1..).zip(numbers) {
                let now = turn * 10_000;
                assert_eq!(one.next(now), Some((id(wanted), Taken::Until(now + 10_000))));
            }
            assert_eq!(one.next(40_000), None);
            assert_eq!(
                one.arrive(9, 50_000),
                Taken::Until(60_000),
                "the worker is free again"
            );
        }
    }

    #[test]
    fn a_queue_has_room_for_so_many_and_answers_who_waited_too_long() {
        let mut one = One::with(QueueModel {
            limit: Some(1),
            deadline_us: Some(5),
            full_status: 429,
            ..QueueModel::default()
        });
        one.arrive(0, 0);
        assert_eq!(one.arrive(1, 1_000), Taken::Waiting);
        assert_eq!(one.arrive(2, 2_000), Taken::Refused(429));
        assert_eq!(one.replica.load(), 2);
        assert_eq!(
            one.next(10_000),
            Some((id(1), Taken::Refused(429))),
            "after nine microseconds"
        );
        assert_eq!(one.next(10_000), None);
    }

    #[test]
    fn work_slows_down_with_what_is_worked_on() {
        let points = [(1.0, 1.0), (3.0, 2.0)];
        let found: Vec<f64> = [1.0, 2.0, 3.0, 9.0].map(|busy| factor(&points, busy)).to_vec();
        assert_eq!(found, [1.0, 1.5, 2.0, 2.0]);
        assert_eq!(factor(&[], 5.0).to_bits(), 1.0f64.to_bits());
        assert_eq!(factor(&[(2.0, 3.0)], 1.0).to_bits(), 3.0f64.to_bits());
    }

    #[test]
    fn a_crash_loses_all() {
        let mut one = One::with(QueueModel::default());
        one.arrive(0, 0);
        one.arrive(1, 0);
        one.replica.crash();
        assert_eq!(one.arrive(2, 5_000), Taken::Until(15_000));
        assert_eq!(one.next(15_000), None);
    }
}
