//! The connections of a round: which are idle, and which carry an attempt of whom.

use super::redirects::Trip;
use crate::job::Nanos;
use patternbench_wire::{
    AnswerParser, Connection, Expected, Failure, Limits, Poller, Progress, Readiness, Target,
};
use slab::Slab;

/// Scratch space for reading.
const BUFFER: usize = 64 * 1024;

/// A place in a slab, and a number that tells whether it is still the same that was meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    pub index: usize,
    pub epoch: u32,
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

/// A connection, and what it is used for.
pub struct Wire {
    connection: Connection,
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

impl Wire {
    /// Why TLS failed on it, when it did.
    pub fn reason(&self) -> Option<&str> {
        self.connection.reason()
    }

    /// What it kept of its last answer.
    pub fn parser(&self) -> &AnswerParser {
        self.connection.parser()
    }
}

/// All connections.
pub struct Wires {
    targets: Vec<Target>,
    limits: Limits,
    poller: Poller,
    wires: Slab<Wire>,
    idle: Vec<Vec<Key>>,
    epoch: u32,
    buffer: Vec<u8>,
    /// How many were opened.
    pub opened: u64,
}

impl Wires {
    pub fn new(targets: Vec<Target>, limits: Limits) -> std::io::Result<Self> {
        let idle = targets.iter().map(|_| Vec::new()).collect();
        let (poller, buffer) = (Poller::new()?, vec![0; BUFFER]);
        Ok(Self {
            targets,
            limits,
            poller,
            wires: Slab::new(),
            idle,
            epoch: 0,
            buffer,
            opened: 0,
        })
    }

    /// Waits for sockets, and puts what is ready into `ready`.
    pub fn wait(&mut self, timeout: Nanos, ready: &mut Vec<Readiness>) -> std::io::Result<()> {
        ready.clear();
        ready.extend(self.poller.wait(std::time::Duration::from_nanos(timeout))?);
        Ok(())
    }

    /// The connection that an event is for, unless it is gone.
    pub fn of_event(&self, event: Readiness) -> Option<Key> {
        // The lower half of the number is the place, the upper half the epoch: see `open`.
        let key = Key {
            index: (event.key & 0xFFFF_FFFF) as usize,
            epoch: (event.key >> 32) as u32,
        };
        self.get(key).map(|_| key)
    }

    pub fn get(&self, key: Key) -> Option<&Wire> {
        self.wires.get(key.index).filter(|wire| wire.epoch == key.epoch)
    }

    pub fn get_mut(&mut self, key: Key) -> Option<&mut Wire> {
        self.wires
            .get_mut(key.index)
            .filter(|wire| wire.epoch == key.epoch)
    }

    /// An idle connection to a target, or a new one.
    pub fn take(&mut self, target: usize) -> Result<Key, Failure> {
        while let Some(key) = self.idle[target].pop() {
            if let Some(wire) = self.get_mut(key) {
                wire.pooled = false;
                return Ok(key);
            }
        }
        self.open(target)
    }

    fn open(&mut self, target: usize) -> Result<Key, Failure> {
        let connection = Connection::open(&self.targets[target], self.limits)?;
        self.epoch = self.epoch.wrapping_add(1);
        self.opened += 1;
        let wire = Wire {
            connection,
            target,
            epoch: self.epoch,
            attempt: None,
            trip: None,
            alarm: None,
            pooled: false,
        };
        let index = self.wires.insert(wire);
        let key = u64::from(self.epoch) << 32 | index as u64;
        if self.poller.add(&self.wires[index].connection, key).is_err() {
            self.wires.remove(index);
            return Err(Failure::Exhausted);
        }
        Ok(Key {
            index,
            epoch: self.epoch,
        })
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
        key: Key,
        request: &[u8],
        expected: Expected,
        attempt: Attempt,
        trip: Option<Box<Trip>>,
    ) -> Result<(), Failure> {
        let Some(wire) = self.get_mut(key) else {
            return Err(Failure::Closed);
        };
        wire.attempt = Some(attempt);
        wire.trip = trip;
        wire.connection.send(request, expected)
    }

    /// Goes on with a connection that is ready.
    pub fn progress(&mut self, key: Key, event: Readiness) -> Result<Progress, Failure> {
        let Self { wires, buffer, .. } = self;
        wires[key.index].connection.ready(event, buffer)
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
