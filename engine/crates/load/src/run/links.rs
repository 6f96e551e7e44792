//! The runtime of a round with its connections: where requests go, what waits to be read, what failed before it began.

use super::runtime::Runtime;
use super::spread::{Dealt, Spread};
use super::wires::{Attempt, Key, Trip, Wire, Wires};
use crate::job::Job;
use crate::units::Nanos;
use patternbench_wire::{AnswerParser, Expected, Failure, Progress, Readiness};
use std::time::SystemTime;

/// The runtime, and the connections of a round in it.
pub struct Links<W: Runtime> {
    runtime: W,
    wires: Wires<W::Connection>,
    /// Whose turn it is of the targets, and of how many requests of the whole load one is sent here.
    spread: Spread,
    of: u32,
    /// The target that each user keeps to, in groups that do.
    dealt: Dealt,
    /// Attempts that failed before they began, to be handled in the next turn rather than in a recursion.
    unsent: Vec<(Attempt, Failure)>,
    /// Connections that have more to read than they were given time for.
    unread: Vec<Readiness>,
}

impl<W: Runtime> Links<W> {
    pub fn new(job: &Job, runtime: W) -> Self {
        let weights = || job.targets.iter().map(|(_, weight)| *weight);
        Self {
            runtime,
            wires: Wires::new(job.targets.iter().map(|(target, _)| target.clone()).collect()),
            spread: after(Spread::new(weights()), job.part.index()),
            of: job.part.of(),
            dealt: Dealt::new(weights()),
            unsent: Vec::new(),
            unread: Vec::new(),
        }
    }

    pub fn begin(&mut self) {
        self.runtime.begin();
    }

    /// Nanoseconds since the round's start.
    #[inline]
    pub fn now(&self) -> Nanos {
        self.runtime.now()
    }

    pub fn today(&self) -> SystemTime {
        self.runtime.today()
    }

    /// The target whose turn it is; where the load is split, further turns are those of other generators.
    #[inline]
    pub fn next_target(&mut self) -> usize {
        let target = self.spread.next();
        for _ in 1..self.of {
            self.spread.next();
        }
        target
    }

    /// The target that a user keeps to.
    pub fn target_of(&mut self, user: u32) -> usize {
        self.dealt.of(user)
    }

    /// A connection to a target: a `new` one, or an idle one if there is any.
    #[inline]
    pub fn take(&mut self, target: usize, new: bool) -> Result<Key, Failure> {
        if new {
            self.wires.open(&mut self.runtime, target)
        } else {
            self.wires.take(&mut self.runtime, target)
        }
    }

    pub fn get(&self, key: Key) -> Option<&Wire<W::Connection>> {
        self.wires.get(key)
    }

    pub fn get_mut(&mut self, key: Key) -> Option<&mut Wire<W::Connection>> {
        self.wires.get_mut(key)
    }

    /// What a connection kept of its last answer.
    pub fn parser(&self, key: Key) -> Option<&AnswerParser> {
        self.wires.parser(key)
    }

    /// Takes the attempt off a connection.
    #[inline]
    pub fn take_attempt(&mut self, key: Key) -> Option<Attempt> {
        self.wires.get_mut(key)?.attempt.take()
    }

    /// Puts a connection back for any session.
    pub fn release(&mut self, key: Key) {
        self.wires.release(key);
    }

    pub fn close(&mut self, key: Key) {
        self.wires.close(key);
    }

    /// Sends an attempt's request over a connection.
    #[inline]
    pub fn send(
        &mut self,
        key: Key,
        request: (&[u8], Expected),
        attempt: Attempt,
        trip: Option<Box<Trip>>,
    ) -> Result<(), Failure> {
        self.wires.send(&mut self.runtime, key, request, attempt, trip)
    }

    /// Goes on with the connection that something was reported about, unless it is gone.
    #[inline]
    pub fn progress(&mut self, event: Readiness) -> Option<(Key, Result<Progress, Failure>)> {
        let key = self.wires.of_event(event)?;
        Some((key, self.wires.progress(&mut self.runtime, key, event)))
    }

    /// When what was read last over a connection had come, where the runtime remembers it.
    #[inline]
    pub fn came(&self, key: Key) -> Option<Nanos> {
        self.wires.came(&self.runtime, key)
    }

    /// Reads the rest of a connection in the next turn.
    pub fn read_later(&mut self, event: Readiness) {
        self.unread.push(event);
    }

    /// Sleeps until something is ready or `alarm`, and puts what is ready into a list.
    pub fn sleep(&mut self, alarm: Nanos, ready: &mut Vec<Readiness>) -> std::io::Result<()> {
        self.runtime.sleep(alarm, ready)?;
        ready.append(&mut self.unread);
        Ok(())
    }

    /// Sleeps until `alarm`, whatever happens, and puts what is ready then into a list.
    pub fn rest(&mut self, alarm: Nanos, ready: &mut Vec<Readiness>) -> std::io::Result<()> {
        self.runtime.rest(alarm, ready)?;
        ready.append(&mut self.unread);
        Ok(())
    }

    /// The seed from which the runtime asks to draw anew, once.
    #[inline]
    pub fn reseeded(&mut self) -> Option<u64> {
        self.runtime.reseeded()
    }

    /// Whether observers are told of the tick that is due.
    pub fn is_watched(&mut self) -> bool {
        self.runtime.is_watched()
    }

    /// Whether the runtime wants the round to go on to its end.
    #[inline]
    pub fn lasts(&self) -> bool {
        self.runtime.lasts()
    }

    /// Remembers an attempt that failed before it began.
    pub fn fail(&mut self, attempt: Attempt, failure: Failure) {
        self.unsent.push((attempt, failure));
    }

    /// The attempts that failed before they began since the last turn.
    #[inline]
    pub fn take_failed(&mut self) -> Vec<(Attempt, Failure)> {
        std::mem::take(&mut self.unsent)
    }

    /// Takes one attempt out of those that failed before they began.
    pub fn take_one_failed(&mut self, is_it: impl Fn(&Attempt) -> bool) -> Option<(Attempt, Failure)> {
        let place = self.unsent.iter().position(|(attempt, _)| is_it(attempt))?;
        Some(self.unsent.remove(place))
    }

    pub fn has_failed(&self) -> bool {
        !self.unsent.is_empty()
    }

    /// Whether there is something to do at once.
    pub fn is_pressing(&self) -> bool {
        self.has_failed() || !self.unread.is_empty()
    }

    /// All attempts that are on their way.
    pub fn attempts(&self) -> Vec<Attempt> {
        self.wires.attempts()
    }

    /// How many connections were opened.
    pub fn opened(&self) -> u64 {
        self.wires.opened
    }
}

/// A spread after a number of turns.
fn after(mut spread: Spread, turns: u32) -> Spread {
    for _ in 0..turns {
        spread.next();
    }
    spread
}
