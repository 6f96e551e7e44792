//! Answers, as they come in over connections.

use super::Runner;
use crate::job::{Job, Kept, Poll};
use crate::run::runtime::Runtime;
use crate::run::session::{draw, group_of, step_of};
use crate::run::verdict::{Ended, Verdict, judge_answer, judge_first, judge_poll};
use crate::run::wires::{Attempt, Key, Wire};
use crate::units::Nanos;
use patternbench_wire::{Answer, Failure, Progress, Readiness};

impl<W: Runtime> Runner<W> {
    pub(super) fn handle(&mut self, job: &Job, event: Readiness) {
        let Some((key, progress)) = self.links.progress(event) else {
            return;
        };
        let came = self.links.came(key);
        let now = came.unwrap_or_else(|| self.now());
        match progress {
            Ok(Progress::Done(answer)) => {
                self.patience.answered(came.is_some());
                return self.answered(job, key, answer, now);
            }
            Ok(Progress::Waiting) => return,
            Ok(Progress::Begun) => self.begun(key, now),
            Ok(Progress::More) => {
                self.begun(key, now);
                self.links.read_later(event);
            }
            Ok(Progress::Gone) => self.links.close(key),
            Err(failure) => self.failed(job, key, failure, self.now()),
        }
        self.patience.lose();
    }

    fn begun(&mut self, key: Key, now: Nanos) {
        if let Some(attempt) = self.links.get_mut(key).and_then(|wire| wire.attempt.as_mut()) {
            attempt.first_byte.get_or_insert(now.max(attempt.start));
        }
    }

    fn answered(&mut self, job: &Job, key: Key, mut answer: Answer, now: Nanos) {
        let Some(mut attempt) = self.links.take_attempt(key) else {
            return;
        };
        answer.keep_alive &= !group_of(job, &self.population[attempt.session]).new_connections;
        let now = attempt.ends_at(now);
        self.keep_cookies(job, attempt, key, now);
        let (verdict, refused) = match self.next_hop(job, attempt, key, answer) {
            Some(Ok(hop)) => {
                self.trace_hop(job, attempt, answer, now);
                return self.follow(job, attempt, key, answer, hop);
            }
            Some(Err(refusal)) => {
                let why = refusal.to_string();
                self.totals.count_refused(refusal);
                // The answer of a redirect that is not followed fails the call.
                (Verdict::Unexpected, Some(why))
            }
            None => (self.examine_all(job, attempt, key, answer, now), None),
        };
        self.trace_answer(job, attempt, key, (answer, verdict), refused, now);
        self.listen(attempt, key, answer);
        if !answer.keep_alive {
            self.links.close(key);
        }
        let kept = answer.keep_alive.then_some(key);
        self.attempt_ended(job, attempt, Ended::Answer(answer, verdict), now, kept);
    }

    fn failed(&mut self, job: &Job, key: Key, failure: Failure, now: Nanos) {
        let attempt = self.links.take_attempt(key);
        if failure == Failure::Tls {
            let reason = self.links.get(key).and_then(Wire::reason);
            self.totals.tls_failed(reason);
        }
        self.links.close(key);
        if let Some(attempt) = attempt {
            self.attempt_ended(job, attempt, Ended::Failure(failure), now, None);
        }
    }

    /// What an answer means, and how many of the items that its call carries have failed.
    fn examine_all(&mut self, job: &Job, attempt: Attempt, key: Key, answer: Answer, now: Nanos) -> Verdict {
        let verdict = self.examine(job, attempt, key, answer, now);
        let Some(items) = &step_of(job, &self.population[attempt.session]).items else {
            return verdict;
        };
        let failed = self.links.parser(key).and_then(|parser| {
            items.failed(&Kept {
                status: answer.status,
                head: parser.head(),
                body: parser.body(),
            })
        });
        self.population[attempt.session].failed_items = failed.unwrap_or(0);
        match verdict {
            Verdict::Good if failed.is_none() => Verdict::Unexpected,
            verdict => verdict,
        }
    }

    /// What an answer means, as far as the step looks into it.
    pub(super) fn examine(
        &mut self,
        job: &Job,
        attempt: Attempt,
        key: Key,
        answer: Answer,
        now: Nanos,
    ) -> Verdict {
        let session = &mut self.population[attempt.session];
        let step = step_of(job, session);
        let (polling, draw) = (session.polls(step), draw(job, session));
        let memory = session.memory.as_deref_mut();
        if memory.is_none() && step.expected.keep_body == 0 {
            return if step.expect.allows(answer.status) {
                Verdict::Good
            } else {
                Verdict::BadStatus
            };
        }
        let Some(parser) = self.links.parser(key) else {
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
            Some(poll) if polling => judge_poll(poll, &kept, too_late(poll)),
            poll => match (judge_first(step, &kept, memory, draw), poll) {
                (Verdict::Good, Some(poll)) if too_late(poll) => Verdict::Unexpected,
                (Verdict::Good, Some(_)) => Verdict::Again,
                (verdict, _) => verdict,
            },
        }
    }
}
