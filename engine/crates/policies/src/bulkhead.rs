//! How many may be on their way at once, and how many may wait for a place.

use std::collections::VecDeque;

/// The configuration of a [`Bulkhead`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// How many may be on their way; at least 1.
    pub max_concurrent: u32,
    /// How many may wait.
    pub max_waiting: u32,
    /// How long one may wait; `None` for as long as it takes.
    pub max_wait_us: Option<u64>,
}

/// What a bulkhead says to one that comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Entry {
    /// It has a place.
    Inside,
    /// It waits for one, behind those that came before.
    Waiting,
    /// There is no room.
    Rejected,
}

/// A bulkhead, in which those who wait are known by `W`.
#[derive(Debug)]
pub struct Bulkhead<W> {
    config: Config,
    inside: u32,
    waiting: VecDeque<W>,
}

impl<W: Copy + PartialEq> Bulkhead<W> {
    /// An empty one.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self {
            config,
            inside: 0,
            waiting: VecDeque::new(),
        }
    }

    /// Decides on one that comes.
    pub fn enter(&mut self, who: W) -> Entry {
        if self.inside < self.config.max_concurrent {
            self.inside += 1;
            return Entry::Inside;
        }
        if self.waiting.len() >= self.config.max_waiting as usize {
            return Entry::Rejected;
        }
        self.waiting.push_back(who);
        Entry::Waiting
    }

    /// A call has left its place. The call that waited longest has it now, and must be notified.
    #[must_use]
    pub fn leave(&mut self) -> Option<W> {
        let next = self.waiting.pop_front();
        if next.is_none() {
            self.inside = self.inside.saturating_sub(1);
        }
        next
    }

    /// One no longer waits; false when it has been given a place already.
    pub fn stop_waiting(&mut self, who: W) -> bool {
        let place = self.waiting.iter().position(|waiting| *waiting == who);
        place.and_then(|place| self.waiting.remove(place)).is_some()
    }

    /// How many are inside.
    #[must_use]
    pub fn inside(&self) -> u32 {
        self.inside
    }

    /// How many wait.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }
}
