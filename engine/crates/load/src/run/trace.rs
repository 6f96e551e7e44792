//! Reports of single attempts, to try a journey: the request, the answer, the failed expectation.

use super::session::Memory;
use super::verdict::Verdict;
use crate::job::{Filled, Kept, Poll, Step};
use patternbench_wire::{Expected, Target};
use serde_json::{Map, Value};
use std::collections::HashMap;

/// How many bytes of every body are kept, so that an answer that was not as expected can be shown.
const SHOWN_BODY: usize = 1 << 10;

/// The report of the first attempts of a round.
pub struct Trace {
    most: usize,
    /// Method and URL of what each session sent last.
    sent: HashMap<usize, (&'static str, String)>,
    told: Vec<Value>,
}

impl Trace {
    /// Reports at most this many attempts; `None` if none are asked for.
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

    /// The reports, in the order in which attempts ended.
    pub fn into_told(self) -> Vec<Value> {
        self.told
    }

    /// Whether there is room to tell of another attempt.
    pub fn has_room(&self) -> bool {
        self.told.len() < self.most
    }

    /// What a session sent last: method and URL.
    pub fn sent_by(&self, session: usize) -> Option<&(&'static str, String)> {
        self.sent.get(&session)
    }

    /// Tells of an attempt.
    pub fn tell(&mut self, attempt: Value) {
        self.told.push(attempt);
    }
}

/// The parts to keep of an answer whose attempt is reported.
pub fn keeping(expected: Expected) -> Expected {
    Expected {
        keep_head: true,
        keep_body: expected.keep_body.max(SHOWN_BODY),
        ..expected
    }
}

/// The reported parts of an answer.
#[derive(Default)]
pub struct Heard {
    pub status: Option<u16>,
    pub outcome: &'static str,
    pub success: bool,
    pub missed: Option<String>,
    pub captured: Map<String, Value>,
    pub body: Option<String>,
}

/// What of an answer was not as expected, or, where the call asks again, what it waits for.
pub fn missed(
    step: &Step,
    kept: &Kept<'_>,
    verdict: Verdict,
    (polling, draw): (bool, u64),
) -> Option<String> {
    match (&step.poll, polling) {
        (Some(poll), true) => missed_by_poll(poll, kept),
        (poll, _) => step
            .expect
            .missed(kept)
            .or_else(|| {
                step.captures
                    .iter()
                    .find_map(|capture| capture.missed(kept, draw))
            })
            .or_else(|| {
                let late = poll.is_some() && verdict == Verdict::Unexpected;
                late.then(|| "the limit of `poll` was over before it could begin".to_owned())
            })
            .or_else(|| {
                let unread = step.items.is_some() && verdict == Verdict::Unexpected;
                unread.then(|| "the items that have failed can't be read".to_owned())
            }),
    }
}

fn missed_by_poll(poll: &Poll, kept: &Kept<'_>) -> Option<String> {
    let awaited = || poll.until.missed(kept).map(|missed| format!("until: {missed}"));
    poll.expect.missed(kept).or_else(awaited)
}

/// What a step captures, as its user remembers it after the answer.
pub fn captured(step: &Step, memory: &Memory) -> Map<String, Value> {
    let remembered = |place: usize| Value::from(memory.captured[place].as_str());
    let captures = step.captures.iter();
    captures
        .map(|capture| (capture.name.clone(), remembered(capture.place)))
        .collect()
}

/// The beginning of a body as text.
pub fn shown(body: &[u8]) -> String {
    String::from_utf8_lossy(&body[..body.len().min(SHOWN_BODY)]).into_owned()
}
