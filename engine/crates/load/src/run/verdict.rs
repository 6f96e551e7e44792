//! What answers mean.

use super::session::Memory;
use crate::job::{Expectation, Kept, Poll, Step};
use patternbench_attemptlog::Outcome;
use patternbench_wire::{Answer, Failure};

/// How an attempt ended, seen from the wire.
#[derive(Debug, Clone, Copy)]
pub enum Ended {
    Answer(Answer, Verdict),
    Failure(Failure),
    Timeout,
    Abandoned,
}

/// What an answer means for its call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// As expected.
    Good,
    /// Another status than expected.
    BadStatus,
    /// The status was right, the rest was not.
    Unexpected,
    /// As expected, and the call continues asking.
    Again,
}

/// What became of an attempt, and whether it is good.
pub fn judge(ended: Ended) -> (Outcome, bool) {
    match ended {
        Ended::Answer(_, Verdict::Good | Verdict::Again) => (Outcome::Answered, true),
        Ended::Answer(_, Verdict::BadStatus) => (Outcome::Answered, false),
        Ended::Answer(_, Verdict::Unexpected) => (Outcome::ExpectationFailed, false),
        Ended::Failure(_) => (Outcome::ConnectionError, false),
        Ended::Timeout => (Outcome::Timeout, false),
        Ended::Abandoned => (Outcome::Cancelled, false),
    }
}

pub fn judge_answer(expect: &Expectation, kept: &Kept<'_>) -> Verdict {
    match (expect.allows(kept.status), expect.holds_for_body(kept.body)) {
        (false, _) => Verdict::BadStatus,
        (true, false) => Verdict::Unexpected,
        (true, true) => Verdict::Good,
    }
}

/// The first answer of a call: as expected, and everything found that later steps want to know.
pub fn judge_first(step: &Step, kept: &Kept<'_>, memory: &mut Memory, draw: u64) -> Verdict {
    let verdict = judge_answer(&step.expect, kept);
    if verdict != Verdict::Good {
        return verdict;
    }
    let mut verdict = Verdict::Good;
    for capture in &step.captures {
        match capture.find(kept, draw) {
            Some(value) => capture.keep(value, &mut memory.captured[capture.place]),
            None => verdict = Verdict::Unexpected,
        }
    }
    verdict
}

/// A later answer of a call that asks until it hears what it wants.
pub fn judge_poll(poll: &Poll, kept: &Kept<'_>, too_late: bool) -> Verdict {
    match judge_answer(&poll.expect, kept) {
        Verdict::Good if judge_answer(&poll.until, kept) == Verdict::Good => Verdict::Good,
        Verdict::Good if too_late => Verdict::Unexpected,
        Verdict::Good => Verdict::Again,
        verdict => verdict,
    }
}
