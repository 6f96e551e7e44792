//! What answers mean.

use super::Runner;
use super::session::{Memory, step_of};
use super::wires::{Attempt, Key};
use crate::job::{Expectation, Job, Kept, Nanos, Poll, Step};
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
    /// As expected, and the call goes on asking.
    Again,
}

impl Runner {
    /// What an answer means, as far as the step looks into it.
    pub(super) fn examine(
        &mut self,
        job: &Job,
        attempt: Attempt,
        key: Key,
        answer: Answer,
        now: Nanos,
    ) -> Verdict {
        let session = &mut self.sessions[attempt.session];
        let step = step_of(job, session);
        let memory = session.memory.as_deref_mut();
        if memory.is_none() && step.expected.keep_body == 0 {
            return if step.expect.allows(answer.status) {
                Verdict::Good
            } else {
                Verdict::BadStatus
            };
        }
        let Some(parser) = self.wires.parser(key) else {
            return Verdict::Unexpected;
        };
        let kept = Kept {
            status: answer.status,
            head: parser.head(),
            body: parser.body(),
        };
        let Some(memory) = memory else {
            return judge_answer(&step.expect, &kept);
        };
        let too_late = |poll: &Poll| now + poll.every > session.intended.saturating_add(poll.limit);
        match &step.poll {
            Some(poll) if memory.polling => judge_poll(poll, &kept, too_late(poll)),
            poll => match (judge_first(step, &kept, memory), poll) {
                (Verdict::Good, Some(poll)) if too_late(poll) => Verdict::Unexpected,
                (Verdict::Good, Some(_)) => Verdict::Again,
                (verdict, _) => verdict,
            },
        }
    }
}

/// What became of an attempt, and whether it is good.
pub(super) fn judge(ended: Ended) -> (Outcome, bool) {
    match ended {
        Ended::Answer(_, Verdict::Good | Verdict::Again) => (Outcome::Answered, true),
        Ended::Answer(_, Verdict::BadStatus) => (Outcome::Answered, false),
        Ended::Answer(_, Verdict::Unexpected) => (Outcome::ExpectationFailed, false),
        Ended::Failure(_) => (Outcome::ConnectionError, false),
        Ended::Timeout => (Outcome::Timeout, false),
        Ended::Abandoned => (Outcome::Cancelled, false),
    }
}

fn judge_answer(expect: &Expectation, kept: &Kept<'_>) -> Verdict {
    match (expect.allows(kept.status), expect.holds_for_body(kept.body)) {
        (false, _) => Verdict::BadStatus,
        (true, false) => Verdict::Unexpected,
        (true, true) => Verdict::Good,
    }
}

/// The first answer of a call: as expected, and everything found that later steps want to know.
fn judge_first(step: &Step, kept: &Kept<'_>, memory: &mut Memory) -> Verdict {
    let verdict = judge_answer(&step.expect, kept);
    if verdict != Verdict::Good {
        return verdict;
    }
    let mut verdict = Verdict::Good;
    for capture in &step.captures {
        match capture.find(kept) {
            Some(value) => memory.captured[capture.place] = value,
            None => verdict = Verdict::Unexpected,
        }
    }
    verdict
}

/// A later answer of a call that asks until it hears what it wants.
fn judge_poll(poll: &Poll, kept: &Kept<'_>, too_late: bool) -> Verdict {
    match judge_answer(&poll.expect, kept) {
        Verdict::Good if judge_answer(&poll.until, kept) == Verdict::Good => Verdict::Good,
        Verdict::Good if too_late => Verdict::Unexpected,
        Verdict::Good => Verdict::Again,
        verdict => verdict,
    }
}
