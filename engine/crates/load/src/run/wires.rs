//! The connections of a round: which are idle, and which carry an attempt of whom.

use super::runtime::{Exchange, Runtime};
use crate::job::Filled;
use crate::units::Nanos;
use patternbench_wire::{AnswerParser, Expected, Failure, Progress, Readiness, Target};
use slab::Slab;

/// A place in a slab, and a number that tells whether it is still the same that was meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    pub index: usize,
    pub epoch: u32,
}

impl Key {
    /// As one number: the lower half is the place, the upper half the epoch.
    fn packed(self) -> u64 {
        u64::from(self.epoch) << 32 | self.index as u64
    }

    fn unpacked(number: u64) -> Self {
        Self {
            index: (number & 0xFFFF_FFFF) as usize,
            epoch: (number >> 32) as u32,
        }
    }
}

/// An attempt on its way.
#[derive(Debug, Clone, Copy)]
pub struct Attempt {
    /// The session that it belongs to.
    pub session: usize,
    /// Its number within the call, from 1.
    pub number: u16,
    /// Its number among the frames of the policies, 0 without any.
    pub frame: u32,
    pub intended: Nanos,
    pub start: Nanos,
    pub first_byte: Option<Nanos>,
    pub deadline: Nanos,
    pub lateness: Nanos,
    /// How many redirects of it were followed.
    pub hops: u8,
}

impl Attempt {
    /// Lets its answer end at a moment, and gives that back. What began was over no earlier.
    pub fn ends_at(&mut self, at: Nanos) -> Nanos {
        let at = at.max(self.start);
        self.first_byte = Some(self.first_byte.map_or(at, |first| first.min(at)));
        at
    }
}

/// A request that is still wanted when its answer comes: to be sent on, or for the path of its cookies.
pub struct Trip {
    pub request: Filled,
    pub expected: Expected,
}

/// A connection, and what it is used for.
pub struct Wire<C> {
    connection: C,
    pub target: usize,
    epoch: u32,
    pub attempt: Option<Attempt>,
    /// Its request, when that is still wanted once the answer is there.
    pub trip: Option<Box<Trip>>,
    /// When the earliest timer is set for it.
    pub alarm: Option<Nanos>,
    /// Whether it lies in the pool.
    pooled: bool,
}

impl<C: Exchange> Wire<C> {
    /// Why TLS failed on it, when it did.
    pub fn reason(&self) -> Option<&str> {
        self.connection.reason()
    }

    /// What it kept of its last answer.
    pub fn parser(&self) -> &AnswerParser {
        self.connection.parser()
    }

    /// Whether a request, or the rest of it, waits to be sent over it.
    #[inline]
    pub fn is_sending(&self) -> bool {
        self.connection.is_sending()
    }
}

/// All connections.
pub struct Wires<C> {
    targets: Vec<Target>,
    wires: Slab<Wire<C>>,
    idle: Vec<Vec<Key>>,
    epoch: u32,
    /// How many were opened.
    pub opened: u64,
}

impl<C: Exchange> Wires<C> {
    pub fn new(targets: Vec<Target>) -> Self {
        let idle = targets.iter().map(|_| Vec::new()).collect();
        Self {
            targets,
            wires: Slab::new(),
            idle,
            epoch: 0,
            opened: 0,
        }
    }

    /// The connection that an event is for, unless it is gone.
    pub fn of_event(&self, event: Readiness) -> Option<Key> {
        let key = Key::unpacked(event.key);
        self.get(key).map(|_| key)
    }

    pub fn get(&self, key: Key) -> Option<&Wire<C>> {
        self.wires.get(key.index).filter(|wire| wire.epoch == key.epoch)
    }

    pub fn get_mut(&mut self, key: Key) -> Option<&mut Wire<C>> {
        self.wires
            .get_mut(key.index)
            .filter(|wire| wire.epoch == key.epoch)
    }

    /// An idle connection to a target, or a new one.
    pub fn take(
        &mut self,
        runtime: &mut impl Runtime<Connection = C>,
        target: usize,
    ) -> Result<Key, Failure> {
        while let Some(key) = self.idle[target].pop() {
            if let Some(wire) = self.get_mut(key) {
                wire.pooled = false;
                return Ok(key);
            }
        }
        self.open(runtime, target)
    }

    /// A new connection to a target.
    pub fn open(
        &mut self,
        runtime: &mut impl Runtime<Connection = C>,
        target: usize,
    ) -> Result<Key, Failure> {
        self.epoch = self.epoch.wrapping_add(1);
        let place = self.wires.vacant_entry();
        let key = Key {
            index: place.key(),
            epoch: self.epoch,
        };
        let connection = runtime.connect(&self.targets[target], key.packed())?;
        self.opened += 1;
        place.insert(Wire {
            connection,
            target,
            epoch: self.epoch,
            attempt: None,
            trip: None,
            alarm: None,
            pooled: false,
        });
        Ok(key)
    }

    /// Puts a connection back for anybody.
    pub fn release(&mut self, key: Key) {
        let Some(wire) = self.get_mut(key) else { return };
        if !wire.pooled {
            wire.pooled = true;
            let target = wire.target;
            self.idle[target].push(key);
        }
    }

    pub fn close(&mut self, key: Key) {
        if self.get(key).is_some() {
            self.wires.remove(key.index);
        }
    }

    /// Sends an attempt's request over a connection.
    pub fn send(
        &mut self,
        runtime: &mut impl Runtime<Connection = C>,
        key: Key,
        (request, expected): (&[u8], Expected),
        attempt: Attempt,
        trip: Option<Box<Trip>>,
    ) -> Result<(), Failure> {
        let Some(wire) = self.get_mut(key) else {
            return Err(Failure::Closed);
        };
        wire.attempt = Some(attempt);
        wire.trip = trip;
        runtime.send(&mut wire.connection, request, expected)
    }

    /// Goes on with a connection that something was reported about.
    pub fn progress(
        &mut self,
        runtime: &mut impl Runtime<Connection = C>,
        key: Key,
        event: Readiness,
    ) -> Result<Progress, Failure> {
        runtime.receive(&mut self.wires[key.index].connection, event)
    }

    /// When what was read last over a connection had come, where the runtime remembers it.
    ///
    /// No answer comes before its request: then somebody has set the kernel's clock, and its time says nothing.
    #[inline]
    pub fn came(&self, runtime: &impl Runtime<Connection = C>, key: Key) -> Option<Nanos> {
        let wire = self.get(key)?;
        let began = wire.attempt.as_ref().map_or(0, |attempt| attempt.start);
        runtime.came(&wire.connection).filter(|came| *came >= began)
    }

    /// What a connection kept of its last answer.
    pub fn parser(&self, key: Key) -> Option<&AnswerParser> {
        self.get(key).map(Wire::parser)
    }

    /// All attempts that are on their way.
    pub fn attempts(&self) -> Vec<Attempt> {
        self.wires.iter().filter_map(|(_, wire)| wire.attempt).collect()
    }
}
