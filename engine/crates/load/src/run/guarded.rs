//! What calls that go through policies share, and what each of them remembers.

use super::wires::Key;
use crate::job::Job;
use crate::units::Nanos;
use patternbench_attemptlog::Row;
use patternbench_policies::outcome::Outcome;
use patternbench_policies::stack::{Call, Decision, Stack, Turn, Waiter};
use rand_pcg::Pcg64;
use rand_pcg::rand_core::SeedableRng;

/// What all calls share.
pub struct Policies {
    stack: Stack,
    decisions: Vec<Decision>,
    /// Its own stream, so that jitter doesn't change what templates draw.
    random: Pcg64,
}

/// What the policies hear of a call.
#[derive(Debug, Clone, Copy)]
pub enum Event {
    /// A request of a call that began at a moment (µs).
    Begins(u64),
    /// The attempt of a frame has ended.
    Ended(u32, Outcome),
    /// The call's timer has gone off.
    Woken,
    /// The frame has been given a place in a bulkhead.
    Granted(u32),
}

impl Policies {
    pub fn new(job: &Job) -> Option<Box<Self>> {
        let policies = || Self {
            stack: Stack::new(job.policies.clone()),
            decisions: Vec::new(),
            random: stream(job.part.own_seed(job.seed)),
        };
        (!job.policies.is_empty()).then(|| Box::new(policies()))
    }

    /// Draws from another seed from now on.
    pub fn reseed(&mut self, seed: u64) {
        self.random = stream(seed);
    }

    /// What a call is to do after an event. [`Self::keep`] takes the list back, so that a call costs no memory.
    pub fn decide(&mut self, call: &mut Call, event: Event, now_us: u64) -> Vec<Decision> {
        let mut turn = Turn {
            stack: &mut self.stack,
            now_us,
            rng: &mut self.random,
            decisions: &mut self.decisions,
        };
        match event {
            Event::Begins(intended_us) => call.begin(&mut turn, intended_us),
            Event::Ended(frame, outcome) => call.ended(&mut turn, frame, outcome),
            Event::Woken => call.wake(&mut turn),
            Event::Granted(frame) => call.granted(&mut turn, frame),
        }
        std::mem::take(&mut self.decisions)
    }

    /// Keeps an empty list for the next decisions.
    pub fn keep(&mut self, decisions: Vec<Decision>) {
        self.decisions = decisions;
    }

    /// The next call that waited and has been given a place in a bulkhead.
    pub fn next_granted(&mut self) -> Option<Waiter> {
        self.stack.next_granted()
    }

    /// How often each policy acted.
    pub fn acted(&self, job: &Job) -> Vec<(&'static str, u64)> {
        let names = job.policies.iter().map(|policy| policy.name());
        names.zip(self.stack.acted().iter().copied()).collect()
    }
}

/// The random numbers of policies of a seed.
fn stream(seed: u64) -> Pcg64 {
    Pcg64::seed_from_u64(seed ^ 0xA076_1D64_78BD_642F)
}

/// How the calls of a session go through the policies.
pub struct Guarded {
    pub call: Call,
    /// The connections of attempts on their way, by frame.
    pub wires: Vec<(u32, Key)>,
    /// The latest attempt that ended, until it is known whether it was the last.
    pub held: Option<Row>,
    /// What the server asked for with the latest answer.
    pub asked_us: Option<u64>,
    /// When the next first attempt was intended.
    pub intended: Option<Nanos>,
    /// When the next attempt could be sent.
    pub possible: Nanos,
    /// When the earliest timer is set.
    pub alarm: Option<Nanos>,
    /// Whether the latest answer means to ask again.
    pub again: bool,
    /// Whether the present request was let out at all.
    pub attempted: bool,
}

impl Guarded {
    /// For the session `who`, which acts as `user`.
    pub fn new(who: Key, group: usize, user: u32) -> Box<Self> {
        let user = (group as u64) << 32 | u64::from(user);
        Box::new(Self {
            call: Call::new((who.index as u64) << 32 | u64::from(who.epoch), user),
            wires: Vec::new(),
            held: None,
            asked_us: None,
            intended: None,
            possible: 0,
            alarm: None,
            again: false,
            attempted: false,
        })
    }
}
