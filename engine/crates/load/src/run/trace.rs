//! Attempts told one by one, for whoever tries a journey out: what was sent, what came back, what was missed.

use super::Runner;
use super::session::step_of;
use super::verdict::{Ended, Verdict, judge};
use super::wires::{Attempt, Key};
use crate::job::{Filled, Job, Kept, Nanos, Poll, Step};
use patternbench_wire::{Answer, Expected, Target};
use serde_json::{Map, Value, json};
use std::collections::HashMap;

/// How many bytes of every body are kept, so that an answer that was not as expected can be shown.
const SHOWN_BODY: usize = 1 << 10;

/// What is told of the first attempts of a round.
pub struct Trace {
    most: usize,
    /// Method and URL of what each session sent last.
    sent: HashMap<usize, (&'static str, String)>,
    told: Vec<Value>,
}

impl Trace {
    /// Tells at most so many attempts; `None` where none are asked for.
    pub fn new(most: usize) -> Option<Box<Self>> {
        let trace = || Self {
            most,
            sent: HashMap::new(),
            told: Vec::new(),
        };
        (most > 0).then(|| Box::new(trace()))
    }

    /// Remembers what a session sends.
    pub fn sends(&mut self, session: usize, target: &Target, request: &Filled) {
        let url = format!("{}://{}{}", target.scheme(), target.host, request.path);
        self.sent.insert(session, (request.method.name(), url));
    }

    /// What is told, in the order in which attempts ended.
    pub fn into_told(self) -> Vec<Value> {
        self.told
    }
}

/// What is kept of an answer whose attempt is told.
pub fn keeping(expected: Expected) -> Expected {
    Expected {
        keep_head: true,
        keep_body: expected.keep_body.max(SHOWN_BODY),
        ..expected
    }
}

/// What came back over the wire, as far as it is told.
#[derive(Default)]
struct Heard {
    status: Option<u16>,
    outcome: &'static str,
    success: bool,
    missed: Option<String>,
    captured: Map<String, Value>,
    body: Option<String>,
}

impl Runner {
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
        let session = &self.sessions[attempt.session];
        let step = step_of(job, session);
        let polling = session.memory.as_ref().is_some_and(|memory| memory.polling);
        let Some(parser) = self.wires.get(key).map(super::wires::Wire::parser) else {
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
            missed: refused.or_else(|| missed(step, &kept, verdict, polling)),
            captured: if success && !polling {
                captured(step, &kept)
            } else {
                Map::new()
            },
            body: (!success).then(|| shown(kept.body)),
        };
        self.tell(job, attempt, heard, now);
    }

    /// Tells of an attempt without an answer.
    pub(super) fn trace_failure(&mut self, job: &Job, attempt: Attempt, ended: Ended, now: Nanos) {
        let missed = match ended {
            Ended::Answer(..) => return,
            Ended::Failure(patternbench_wire::Failure::Tls) => self.tls_reason.clone(),
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
        let session = &self.sessions[attempt.session];
        let (group, step) = (&job.groups[session.group].name, step_of(job, session).name);
        let Some(trace) = self
            .trace
            .as_deref_mut()
            .filter(|trace| trace.told.len() < trace.most)
        else {
            return;
        };
        let sent = trace.sent.get(&attempt.session);
        trace.told.push(json!({
            "group": group, "step": job.step_names[usize::from(step)], "user": session.user, "call": session.call,
            "attempt": attempt.number, "method": sent.map(|sent| sent.0), "url": sent.map(|sent| &sent.1),
            "start_us": attempt.start / 1000, "end_us": now / 1000, "status": heard.status,
            "outcome": heard.outcome, "success": heard.success, "missed": heard.missed,
            "captured": heard.captured, "body": heard.body,
        }));
    }
}

/// What of an answer was not as expected, or, where the call asks again, what it waits for.
fn missed(step: &Step, kept: &Kept<'_>, verdict: Verdict, polling: bool) -> Option<String> {
    match (&step.poll, polling) {
        (Some(poll), true) => missed_by_poll(poll, kept),
        (poll, _) => step
            .expect
            .missed(kept)
            .or_else(|| step.captures.iter().find_map(|capture| capture.missed(kept)))
            .or_else(|| {
                let late = poll.is_some() && verdict == Verdict::Unexpected;
                late.then(|| "the limit of `poll` was over before it could begin".to_owned())
            }),
    }
}

fn missed_by_poll(poll: &Poll, kept: &Kept<'_>) -> Option<String> {
    let awaited = || poll.until.missed(kept).map(|missed| format!("until: {missed}"));
    poll.expect.missed(kept).or_else(awaited)
}

fn captured(step: &Step, kept: &Kept<'_>) -> Map<String, Value> {
    let values = step.captures.iter();
    values
        .filter_map(|capture| Some((capture.name.clone(), Value::from(capture.find(kept)?))))
        .collect()
}

/// The beginning of a body as text.
fn shown(body: &[u8]) -> String {
    String::from_utf8_lossy(&body[..body.len().min(SHOWN_BODY)]).into_owned()
}
