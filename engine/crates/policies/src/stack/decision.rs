//! The events of a call, and its decisions.

use super::layers::Stack;
use crate::outcome::Outcome;

/// What the caller is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// Send an attempt, and tell how it ended under this number.
    Send {
        /// The attempt's number in its call.
        frame: u32,
    },
    /// No longer wait for an attempt; nothing more of it is to be reported.
    Cancel {
        /// The attempt's number in its call.
        frame: u32,
        /// Why.
        why: Why,
    },
    /// The call has ended. Always the last decision about it.
    Done(Outcome),
}

/// Why an attempt is no longer waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// It took longer than a timeout or deadline allows.
    TimedOut,
    /// Another attempt of the same call was faster.
    Superseded,
}

/// What a call needs to decide: the moment, what it shares with others, chance, and room for decisions.
pub struct Turn<'a, R> {
    /// The policies.
    pub stack: &'a mut Stack,
    /// The present moment.
    pub now_us: u64,
    /// Where jitter is drawn from.
    pub rng: &'a mut R,
    /// Decisions are put at its end, in the order in which they are to be carried out.
    pub decisions: &'a mut Vec<Decision>,
}
