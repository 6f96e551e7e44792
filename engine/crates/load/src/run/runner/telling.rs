//! Tells attempts one by one while they end.

use super::Runner;
use crate::job::{Job, Kept};
use crate::run::runtime::Runtime;
use crate::run::session::{draw, step_of};
use crate::run::trace::{Heard, captured, missed, shown};
use crate::run::verdict::{Ended, Verdict, judge};
use crate::run::wires::{Attempt, Key, Wire};
use crate::units::Nanos;
use patternbench_wire::{Answer, Failure};
use serde_json::{Map, json};

impl<W: Runtime> Runner<W> {
    /// Tells of a redirect that is followed.
    pub(super) fn trace_hop(&mut self, job: &Job, attempt: Attempt, answer: Answer, now: Nanos) {
        let heard = Heard {
            status: Some(answer.status),
            outcome: "redirected",
            success: true,
            ..Heard::default()
        };
        self.tell(job, attempt, heard, now);
    }

    /// Tells of an answer, while it can still be looked at.
    pub(super) fn trace_answer(
        &mut self,
        job: &Job,
        attempt: Attempt,
        key: Key,
        (answer, verdict): (Answer, Verdict),
        refused: Option<String>,
        now: Nanos,
    ) {
        if self.trace.is_none() {
            return;
        }
        let session = &self.population[attempt.session];
        let step = step_of(job, session);
        let polling = session.polls(step);
        let Some(parser) = self.links.get(key).map(Wire::parser) else {
            return;
        };
        let kept = Kept {
            status: answer.status,
            head: parser.head(),
            body: parser.body(),
        };
        let (outcome, success) = judge(Ended::Answer(answer, verdict));
        let heard = Heard {
            status: Some(answer.status),
            outcome: outcome.name(),
            success,
            missed: refused.or_else(|| missed(step, &kept, verdict, (polling, draw(job, session)))),
            captured: match session.memory.as_deref() {
                Some(memory) if success && !polling => captured(step, memory),
                _ => Map::new(),
            },
            body: (!success).then(|| shown(kept.body)),
        };
        self.tell(job, attempt, heard, now);
    }

    /// Tells of an attempt without an answer.
    pub(super) fn trace_failure(&mut self, job: &Job, attempt: Attempt, ended: Ended, now: Nanos) {
        let missed = match ended {
            Ended::Answer(..) => return,
            Ended::Failure(Failure::Tls) => self.totals.tls_reason().map(str::to_owned),
            Ended::Failure(failure) => Some(failure.name().to_owned()),
            Ended::Timeout => Some("timeout".to_owned()),
            Ended::Abandoned => None,
        };
        let heard = Heard {
            outcome: judge(ended).0.name(),
            missed,
            ..Heard::default()
        };
        self.tell(job, attempt, heard, now);
    }

    fn tell(&mut self, job: &Job, attempt: Attempt, heard: Heard, now: Nanos) {
        let session = &self.population[attempt.session];
        let (group, step) = (&job.groups[session.group].name, step_of(job, session).name);
        let Some(trace) = self.trace.as_deref_mut().filter(|trace| trace.has_room()) else {
            return;
        };
        let sent = trace.sent_by(attempt.session);
        let told = json!({
            "group": group, "step": job.step_names[usize::from(step)], "user": session.user, "call": session.call,
            "attempt": attempt.number, "method": sent.map(|sent| sent.0), "url": sent.map(|sent| &sent.1),
            "start_us": attempt.start / 1000, "end_us": now / 1000, "status": heard.status,
            "outcome": heard.outcome, "success": heard.success, "missed": heard.missed,
            "captured": heard.captured, "body": heard.body,
        });
        trace.tell(told);
    }
}
