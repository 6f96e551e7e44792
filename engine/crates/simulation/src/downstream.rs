//! Calls of services to each other: each goes through its own policies, which are those of the load engine.

use crate::Nanos;
use crate::service::Id;
use patternbench_policies::outcome::{Kind, Outcome};
use patternbench_policies::stack::{Call, Decision, Stack, Turn};
use rand_pcg::Pcg64;
use slab::Slab;

/// The news about a request: a status, that its connection was reset, or that no one listened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Told {
    Status(u16),
    Reset,
    Refused,
}

impl Told {
    /// The same, as policies see it.
    pub fn outcome(self) -> Outcome {
        match self {
            Self::Status(200..=399) => Outcome::Good,
            Self::Status(status) => Outcome::failed(Kind::Status(status)),
            Self::Reset | Self::Refused => Outcome::failed(Kind::Connection),
        }
    }
}

/// A call that a model says a service makes.
pub struct Called {
    /// The number of the link over which it goes.
    pub link: usize,
    pub share: f64,
    pub ignored: bool,
    /// The policies that all calls of this kind share, where there are any.
    pub stack: Option<Stack>,
}

/// A call under way.
pub struct Calling {
    /// The request for which it is made.
    pub parent: Id,
    /// Which of the calls of the model it is.
    pub kind: usize,
    number: u32,
    call: Call,
    /// Its attempts under way, by the numbers that the policies gave them.
    attempts: Vec<(u32, Id)>,
    alarm: Nanos,
}

/// What happens to a call.
pub enum Happens {
    Begins,
    Ended(u32, Told),
    Woken,
    Granted(u32),
}

/// A call, by its place and its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct CallId {
    pub place: u32,
    pub number: u32,
}

/// All calls under way.
#[derive(Default)]
pub struct Downstream {
    pub kinds: Vec<Called>,
    under_way: Slab<Calling>,
    numbers: u32,
    /// An empty list for the next decisions, so that a call costs less memory.
    spare: Vec<Decision>,
}

/// What a call asks for: decisions to carry out, and when it is to be woken.
pub struct Asks {
    pub decisions: Vec<Decision>,
    pub wake_at: Option<Nanos>,
}

impl Downstream {
    /// A new call for a request.
    pub fn insert(&mut self, parent: Id, kind: usize) -> CallId {
        self.numbers = self.numbers.wrapping_add(1);
        let number = self.numbers;
        let entry = self.under_way.vacant_entry();
        let id = CallId {
            place: entry.key() as u32,
            number,
        };
        entry.insert(Calling {
            parent,
            kind,
            number,
            call: Call::new(who(id), 0),
            attempts: Vec::new(),
            alarm: Nanos::MAX,
        });
        id
    }

    /// A call, if it is still under way.
    pub fn get(&self, id: CallId) -> Option<&Calling> {
        self.under_way
            .get(id.place as usize)
            .filter(|calling| calling.number == id.number)
    }

    /// Tells a call what has happened; nothing where it is over.
    pub fn tell(&mut self, id: CallId, happens: Happens, now: Nanos, rng: &mut Pcg64) -> Option<Asks> {
        let calling = in_place(&mut self.under_way, id)?;
        let stack = self.kinds[calling.kind].stack.as_mut()?;
        let mut decisions = std::mem::take(&mut self.spare);
        let mut turn = Turn {
            stack,
            now_us: now / 1000,
            rng,
            decisions: &mut decisions,
        };
        match happens {
            Happens::Begins => calling.call.begin(&mut turn, now / 1000),
            Happens::Ended(frame, told) => {
                calling.attempts.retain(|(known, _)| *known != frame);
                calling.call.ended(&mut turn, frame, told.outcome());
            }
            Happens::Woken => {
                calling.alarm = Nanos::MAX;
                calling.call.wake(&mut turn);
            }
            Happens::Granted(frame) => calling.call.granted(&mut turn, frame),
        }
        let due = calling.call.wake_at_us().map(|us| us.saturating_mul(1000));
        let wake_at = due.filter(|due| *due < calling.alarm);
        if let Some(at) = wake_at {
            calling.alarm = at;
        }
        Some(Asks { decisions, wake_at })
    }

    /// Keeps an emptied list for the next decisions.
    pub fn keep(&mut self, mut decisions: Vec<Decision>) {
        decisions.clear();
        self.spare = decisions;
    }

    /// Takes note of an attempt.
    pub fn sent(&mut self, id: CallId, frame: u32, attempt: Id) {
        if let Some(calling) = in_place(&mut self.under_way, id) {
            calling.attempts.push((frame, attempt));
        }
    }

    /// Forgets an attempt, and says which request it was.
    pub fn cancelled(&mut self, id: CallId, frame: u32) -> Option<Id> {
        let attempts = &mut in_place(&mut self.under_way, id)?.attempts;
        let place = attempts.iter().position(|(known, _)| *known == frame)?;
        Some(attempts.swap_remove(place).1)
    }

    /// Ends a call.
    pub fn remove(&mut self, id: CallId) -> Option<Calling> {
        self.get(id)?;
        Some(self.under_way.remove(id.place as usize))
    }

    /// A call that has been given a place in a bulkhead since this was last asked, and where in it.
    pub fn next_granted(&mut self, kind: usize) -> Option<(CallId, u32)> {
        let waiter = self.kinds[kind].stack.as_mut()?.next_granted()?;
        let id = CallId {
            place: (waiter.who >> 32) as u32,
            number: waiter.who as u32,
        };
        Some((id, waiter.frame))
    }
}

/// A call to change, if it is still under way.
fn in_place(under_way: &mut Slab<Calling>, id: CallId) -> Option<&mut Calling> {
    under_way
        .get_mut(id.place as usize)
        .filter(|calling| calling.number == id.number)
}

/// A call's number as policies know it.
fn who(id: CallId) -> u64 {
    (u64::from(id.place) << 32) | u64::from(id.number)
}
