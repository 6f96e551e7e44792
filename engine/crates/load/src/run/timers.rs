//! What is to happen when.

use crate::units::Nanos;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The owner of a timer. The epoch shows whether the place in the slab still belongs to the session that set it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Alarm {
    /// A session that pauses.
    Session { index: usize, epoch: u32 },
    /// A session whose call waits for a policy.
    Policy { index: usize, epoch: u32 },
    /// A connection whose attempt may be overdue.
    Wire { index: usize, epoch: u32 },
}

/// Timers in order of time.
#[derive(Default)]
pub struct Timers {
    heap: BinaryHeap<Reverse<(Nanos, Alarm)>>,
}

impl Timers {
    /// Sets one. A timer can't be cancelled: its owner checks on waking whether it is still wanted.
    pub fn set(&mut self, at: Nanos, alarm: Alarm) {
        self.heap.push(Reverse((at, alarm)));
    }

    /// The next that is due at `now`.
    pub fn due(&mut self, now: Nanos) -> Option<(Nanos, Alarm)> {
        let Reverse((at, _)) = self.heap.peek()?;
        if *at > now {
            None
        } else {
            self.heap.pop().map(|Reverse(timer)| timer)
        }
    }

    /// When the next is due.
    pub fn next(&self) -> Option<Nanos> {
        self.heap.peek().map(|Reverse((at, _))| *at)
    }
}
