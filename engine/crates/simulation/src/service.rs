//! A service's workers and its queue.

use crate::Nanos;
use crate::faults::{Faults, nanos};
use crate::model::{Order, ServiceModel};
use rand_pcg::Pcg64;
use std::collections::VecDeque;

/// The number of a request, in the order in which they were sent.
pub type Number = u64;

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

/// The workers and the queue at a moment.
pub struct Service {
    model: ServiceModel,
    busy: usize,
    /// Who waits, and since when.
    waiting: VecDeque<(Number, Nanos)>,
}

impl Service {
    pub fn new(model: ServiceModel) -> Self {
        Self {
            model,
            busy: 0,
            waiting: VecDeque::new(),
        }
    }

    /// A request comes.
    pub fn arrive(&mut self, number: Number, now: Nanos, faults: &Faults, random: &mut Pcg64) -> Taken {
        if self.busy < self.model.workers {
            return self.begin(now, faults, random);
        }
        if self
            .model
            .queue
            .limit
            .is_some_and(|limit| self.waiting.len() >= limit)
        {
            return Taken::Refused(self.model.queue.full_status);
        }
        self.waiting.push_back((number, now));
        Taken::Waiting
    }

    /// A worker is done; it takes the next one that waits, if there is one, and says what becomes of that.
    pub fn next(&mut self, now: Nanos, faults: &Faults, random: &mut Pcg64) -> Option<(Number, Taken)> {
        self.busy -= 1;
        let (number, since) = match self.model.queue.order {
            Order::Fifo => self.waiting.pop_front(),
            Order::Lifo => self.waiting.pop_back(),
        }?;
        let waited = now - since;
        if self
            .model
            .queue
            .deadline_us
            .is_some_and(|most| waited > nanos(most))
        {
            // The worker is as free as before: whoever asks goes on with the one after it.
            self.busy += 1;
            return Some((number, Taken::Refused(self.model.queue.full_status)));
        }
        Some((number, self.begin(now, faults, random)))
    }

    /// Everything is lost.
    pub fn crash(&mut self) {
        self.busy = 0;
        self.waiting.clear();
    }

    fn begin(&mut self, now: Nanos, faults: &Faults, random: &mut Pcg64) -> Taken {
        self.busy += 1;
        let work = self.model.times.draw(random) * factor(&self.model.slowdown, self.busy as f64);
        Taken::Until(faults.done(now, work))
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
    use crate::model::{Model, QueueModel};
    use rand_core::SeedableRng;

    fn service(queue: QueueModel) -> Service {
        let text = r#"{"model": 1, "service": {"workers": 1, "times": {"fixed_us": 10}, "slowdown": [[1, 1], [3, 2]]}}"#;
        let model = Model::parse(text).expect("it is right");
        Service::new(ServiceModel {
            queue,
            ..model.service
        })
    }

    fn arrive(service: &mut Service, number: Number, now: Nanos) -> Taken {
        service.arrive(number, now, &Faults::default(), &mut Pcg64::seed_from_u64(1))
    }

    fn next(service: &mut Service, now: Nanos) -> Option<(Number, Taken)> {
        service.next(now, &Faults::default(), &mut Pcg64::seed_from_u64(1))
    }

    #[test]
    fn who_waits_is_taken_in_the_queues_order() {
        for (order, numbers) in [(Order::Fifo, [1, 2, 3]), (Order::Lifo, [3, 2, 1])] {
            let mut one = service(QueueModel {
                order,
                ..QueueModel::default()
            });
            assert_eq!(arrive(&mut one, 0, 0), Taken::Until(10_000));
            assert!((1..=3).all(|number| arrive(&mut one, number, 0) == Taken::Waiting));
            for (turn, wanted) in (1..).zip(numbers) {
                let now = turn * 10_000;
                assert_eq!(next(&mut one, now), Some((wanted, Taken::Until(now + 10_000))));
            }
            assert_eq!(next(&mut one, 40_000), None);
            assert_eq!(
                arrive(&mut one, 9, 50_000),
                Taken::Until(60_000),
                "the worker is free again"
            );
        }
    }

    #[test]
    fn a_queue_has_room_for_so_many_and_answers_who_waited_too_long() {
        let queue = QueueModel {
            limit: Some(1),
            deadline_us: Some(5),
            full_status: 429,
            ..QueueModel::default()
        };
        let mut one = service(queue);
        arrive(&mut one, 0, 0);
        assert_eq!(arrive(&mut one, 1, 1_000), Taken::Waiting);
        assert_eq!(arrive(&mut one, 2, 2_000), Taken::Refused(429));
        assert_eq!(
            next(&mut one, 10_000),
            Some((1, Taken::Refused(429))),
            "after nine microseconds"
        );
        assert_eq!(next(&mut one, 10_000), None);
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
        let mut one = service(QueueModel::default());
        arrive(&mut one, 0, 0);
        arrive(&mut one, 1, 0);
        one.crash();
        assert_eq!(arrive(&mut one, 2, 5_000), Taken::Until(15_000));
        assert_eq!(next(&mut one, 15_000), None);
    }
}
