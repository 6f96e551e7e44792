//! Whether answers may lie unread until the next arrival, so that the generator wakes up once for both.
//!
//! An arrival has to be sent when it is due. Nothing waits for its answer where it ends a call, and the kernel remembers
//! when it came. So the generator may sleep through it and read it with the next arrival: no time in the records depends
//! on when it is read. That holds as long as each answer comes whole, with the kernel's time, to a request that was sent
//! whole. After anything else answers are read at once for a while.

use crate::job::{Group, Job, Journey, Workload};
use crate::units::Nanos;

/// How many answers are read at once at the start, after anything out of the ordinary, and from time to time.
const LOOKED_AT: u32 = 64;
/// How many answers may lie until some are looked at again: one that came in pieces looks whole when it is read late.
const TRUSTED: u32 = 4096;
/// No answer lies for longer: with fewer arrivals than one in this time, waking up for each answer costs little.
const LONGEST: Nanos = 1_000_000;

/// Whether answers may lie until the next arrival.
pub struct Patience {
    /// Whether no call goes on after an answer.
    possible: bool,
    /// Answers to read at once.
    at_once: u32,
    /// Answers that may lie until some are read at once again.
    trusted: u32,
}

impl Patience {
    pub fn new(job: &Job) -> Self {
        Self {
            possible: ends_with_answers(job),
            at_once: LOOKED_AT,
            trusted: TRUSTED,
        }
    }

    /// Whether what comes until the alarm may be read then.
    #[inline]
    pub fn lasts(&self, now: Nanos, alarm: Nanos) -> bool {
        self.possible && self.at_once == 0 && alarm.saturating_sub(now) <= LONGEST
    }

    /// An answer was complete; `ordinary` tells whether it came in one read, with the kernel's time.
    #[inline]
    pub fn answered(&mut self, ordinary: bool) {
        match (ordinary, self.at_once, self.trusted) {
            (false, ..) | (true, 0, 0) => self.lose(),
            (true, 0, _) => self.trusted -= 1,
            (true, ..) => self.at_once -= 1,
        }
    }

    /// Something happened whose moment the kernel does not remember.
    pub fn lose(&mut self) {
        (self.at_once, self.trusted) = (LOOKED_AT, TRUSTED);
    }
}

/// Whether nothing in a job follows an answer: each call is an arrival's only one, and ends with its first answer.
pub fn ends_with_answers(job: &Job) -> bool {
    let open = |group: &Group| matches!(group.workload, Workload::Open(_));
    job.policies.is_empty()
        && job
            .groups
            .iter()
            .all(|group| open(group) && group.journeys.iter().all(is_one_exchange))
}

fn is_one_exchange(journey: &Journey) -> bool {
    let [step] = journey.steps.as_slice() else {
        return false;
    };
    journey.order.len() == 1
        && step.each.is_none()
        && step.poll.is_none()
        && step.until_expected.is_none()
        && step.max_redirects == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use std::path::Path;

    fn job(workload: &str, steps: Value, policies: Value) -> Job {
        let workloads = json!({
            "open": {"open": {"schedule": {"constant": {"rate": 5000}}}}, "closed": {"closed": {"users": 1}},
        });
        let mut job = json!({
            "contract": 1, "seed": 1, "targets": [{"url": "http://127.0.0.1:1"}], "duration_us": 1_000_000,
            "groups": [{"workload": workloads[workload], "journeys": [{"steps": steps}]}],
        });
        if !policies.is_null() {
            job["policies"] = policies;
        }
        Job::parse(&job.to_string(), Path::new("/nowhere")).unwrap_or_else(|wrong| panic!("{wrong:?}"))
    }

    /// Patience after this many ordinary answers.
    fn after(answers: u32) -> Patience {
        let mut patience = Patience::new(&job("open", json!([{}]), Value::Null));
        (0..answers).for_each(|_| patience.answered(true));
        patience
    }

    #[test]
    fn only_answers_that_nothing_follows_may_lie() {
        let follows = |workload, steps, policies| !ends_with_answers(&job(workload, steps, policies));
        let plain = json!([{"expect": {"statuses": [200]}}]);
        assert!(!follows("open", plain, Value::Null));
        assert!(follows("closed", json!([{}]), Value::Null));
        for steps in [
            json!([{"name": "a"}, {"name": "b"}]),
            json!([{"repeat": 2}]),
            json!([{"max_redirects": 1}]),
            json!([{"until_expected": {"every_us": 1000, "limit_us": 1_000_000}}]),
            json!([{"poll": {"every_us": 1000, "limit_us": 1_000_000, "until": {}}}]),
        ] {
            assert!(follows("open", steps.clone(), Value::Null), "{steps}");
        }
        let retry = json!([{"retry": {"max_attempts": 2, "backoff": {"fixed": {"delay_us": 1000}}}}]);
        assert!(follows("open", json!([{}]), retry));
    }

    #[test]
    fn answers_are_looked_at_first_and_again_and_after_anything_out_of_the_ordinary() {
        let lasts = |patience: &Patience| patience.lasts(0, LONGEST);
        assert!(!lasts(&after(LOOKED_AT - 1)) && lasts(&after(LOOKED_AT)));
        assert!(lasts(&after(LOOKED_AT + TRUSTED)) && !lasts(&after(LOOKED_AT + TRUSTED + 1)));
        let mut patience = after(LOOKED_AT);
        patience.answered(false);
        assert!(!lasts(&patience));
        (0..LOOKED_AT).for_each(|_| patience.answered(true));
        assert!(lasts(&patience));
        patience.lose();
        assert!(!lasts(&patience));
    }

    #[test]
    fn no_answer_lies_for_longer_than_a_millisecond() {
        assert!(after(LOOKED_AT).lasts(5, 5 + LONGEST) && !after(LOOKED_AT).lasts(5, 6 + LONGEST));
    }
}
