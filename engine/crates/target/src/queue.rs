//! Where requests wait for a worker: first come, first served, and never more than agreed.

use crate::service::{Dice, Work};
use crate::settings::QueueLimit;
use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// A request that waits or is being served, with data that its owner gets back.
#[derive(Debug)]
pub struct Job<T> {
    /// Counts the requests in the order in which they arrived, refused ones among them, from 0.
    pub id: u64,
    /// What it costs.
    pub work: Work,
    /// What it is about.
    pub payload: T,
    /// How often the queue had been cleared when it came.
    cleared: u64,
}

/// Counts for people who ask how the target is doing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Requests so far, refused ones among them.
    pub received: u64,
    /// Requests that a worker has finished.
    pub finished: u64,
    /// Requests refused because the queue was full.
    pub refused: u64,
    /// Requests that wait.
    pub waiting: usize,
    /// Requests that are being served.
    pub serving: usize,
}

/// A queue in front of a number of workers.
#[derive(Debug)]
pub struct Queue<T> {
    inside: Mutex<Inside<T>>,
    arrival: Condvar,
    room: Option<usize>,
}

#[derive(Debug)]
struct Inside<T> {
    jobs: VecDeque<Job<T>>,
    counts: Counts,
    dice: Dice,
    cleared: u64,
}

impl<T> Queue<T> {
    /// An empty queue. The draws of `dice` are taken in the order of arrival.
    pub fn new(workers: usize, limit: QueueLimit, dice: Dice) -> Self {
        let room = match limit {
            QueueLimit::Unbounded => None,
            QueueLimit::AtMost(waiting) => Some(workers.saturating_add(waiting)),
        };
        let inside = Inside {
            jobs: VecDeque::new(),
            counts: Counts::default(),
            dice,
            cleared: 0,
        };
        Self {
            inside: Mutex::new(inside),
            arrival: Condvar::new(),
            room,
        }
    }

    /// Lets a request in, or gives it back with its number when the queue is full.
    ///
    /// The bound is on requests in the system (workers + queue), so a worker that is free but has not woken up yet
    /// takes no place in the queue away. `payload` is made with the lock held: keep it short.
    pub fn push(&self, adjust: impl FnOnce(Work) -> Work, payload: T) -> Result<(), (u64, T)> {
        let mut inside = self.lock();
        let id = inside.counts.received;
        inside.counts.received += 1;
        let present = inside.jobs.len() + inside.counts.serving;
        if self.room.is_some_and(|room| present >= room) {
            inside.counts.refused += 1;
            return Err((id, payload));
        }
        let work = adjust(inside.dice.next());
        let cleared = inside.cleared;
        inside.jobs.push_back(Job {
            id,
            work,
            payload,
            cleared,
        });
        drop(inside);
        self.arrival.notify_one();
        Ok(())
    }

    /// The request that has waited longest; waits for one when there is none.
    pub fn pop(&self) -> Job<T> {
        let inside = self.lock();
        let mut inside = self
            .arrival
            .wait_while(inside, |inside| inside.jobs.is_empty())
            .unwrap_or_else(PoisonError::into_inner);
        let job = inside
            .jobs
            .pop_front()
            .expect("the wait ended because there is one");
        inside.counts.serving += 1;
        job
    }

    /// Says that a request that was popped is finished, which frees its place.
    pub fn done(&self) {
        let mut inside = self.lock();
        inside.counts.serving -= 1;
        inside.counts.finished += 1;
    }

    /// Gives back all that wait, which count as refused; those that are being served are given up from now on.
    pub fn clear(&self) -> Vec<Job<T>> {
        let mut inside = self.lock();
        inside.cleared += 1;
        inside.counts.refused += inside.jobs.len() as u64;
        inside.jobs.drain(..).collect()
    }

    /// Whether the queue was cleared since a request came.
    pub fn gave_up(&self, job: &Job<T>) -> bool {
        job.cleared < self.lock().cleared
    }

    /// Counts a request that is answered without a worker, and gives its number.
    pub fn pass_by(&self) -> u64 {
        let mut inside = self.lock();
        let id = inside.counts.received;
        inside.counts.received += 1;
        inside.counts.finished += 1;
        id
    }

    /// How it is doing.
    pub fn counts(&self) -> Counts {
        let inside = self.lock();
        Counts {
            waiting: inside.jobs.len(),
            ..inside.counts
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inside<T>> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{Pathology, ServiceTime};

    fn queue(workers: usize, limit: QueueLimit) -> Queue<&'static str> {
        Queue::new(
            workers,
            limit,
            Dice::new(1, ServiceTime::Fixed(0), Pathology::default()),
        )
    }

    fn push(queue: &Queue<&'static str>, name: &'static str) -> bool {
        queue.push(|work| work, name).is_ok()
    }

    #[test]
    fn the_first_to_come_is_the_first_to_be_served() {
        let queue = queue(1, QueueLimit::Unbounded);
        for name in ["a", "b", "c"] {
            assert!(push(&queue, name));
        }
        let served = [queue.pop(), queue.pop(), queue.pop()].map(|job| (job.id, job.payload));
        assert_eq!(served, [(0, "a"), (1, "b"), (2, "c")]);
    }

    #[test]
    fn as_many_wait_as_agreed_besides_those_that_are_served() {
        let queue = queue(2, QueueLimit::AtMost(1));
        assert!(push(&queue, "a") && push(&queue, "b") && push(&queue, "c"));
        assert_eq!(queue.push(|work| work, "d"), Err((3, "d")));
        let _ = queue.pop();
        assert!(!push(&queue, "e"), "being served still takes a place");
        queue.done();
        assert!(push(&queue, "f"));
        let counts = queue.counts();
        assert_eq!((counts.received, counts.refused, counts.finished), (6, 2, 1));
        assert_eq!((counts.waiting, counts.serving), (3, 0));
    }

    #[test]
    fn a_cleared_queue_gives_back_what_waits_and_gives_up_what_is_served_but_nothing_that_comes_after() {
        let queue = queue(1, QueueLimit::AtMost(2));
        assert!(push(&queue, "a") && push(&queue, "b") && push(&queue, "c"));
        let served = queue.pop();
        assert!(!queue.gave_up(&served));
        let back: Vec<_> = queue.clear().iter().map(|job| (job.id, job.payload)).collect();
        assert_eq!(back, [(1, "b"), (2, "c")]);
        assert!(queue.gave_up(&served));
        assert!(push(&queue, "d"), "there is room again");
        queue.done();
        let next = queue.pop();
        assert_eq!((next.id, next.payload), (3, "d"));
        assert!(!queue.gave_up(&next));
        let counts = queue.counts();
        assert_eq!((counts.received, counts.refused, counts.finished), (4, 2, 1));
    }

    #[test]
    fn a_queue_of_zero_still_feeds_free_workers() {
        let queue = queue(1, QueueLimit::AtMost(0));
        assert!(push(&queue, "a"));
        assert!(!push(&queue, "b"));
    }

    #[test]
    fn a_refused_request_draws_nothing() {
        let draws = |limit| {
            let dice = Dice::new(1, ServiceTime::Exponential(1_000_000), Pathology::default());
            let queue = Queue::new(1, limit, dice);
            let mut services = vec![];
            for _ in 0..5 {
                for _ in 0..3 {
                    let _ = queue.push(|work| work, ());
                }
                while queue.counts().waiting > 0 && services.len() < 5 {
                    services.push(queue.pop().work.service);
                    queue.done();
                }
            }
            services
        };
        assert_eq!(draws(QueueLimit::Unbounded), draws(QueueLimit::AtMost(0)));
    }
}
