//! Calls that go through policies: carries out what the policies decide.
//!
//! Which attempt is a call's last is known only when the policies have decided, so the row of the latest one is held
//! back until then.

use super::Runner;
use crate::job::Job;
use crate::run::guarded::Event;
use crate::run::runtime::Runtime;
use crate::run::session::{ends_journey, microseconds, step_of};
use crate::run::timers::Alarm;
use crate::run::verdict::{Ended, Verdict, judge};
use crate::run::wires::{Attempt, Key};
use crate::units::Nanos;
use patternbench_attemptlog::{Outcome, Row};
use patternbench_policies::outcome::{self, Failure, Kind};
use patternbench_policies::retry::retry_after_us;
use patternbench_policies::stack::{Decision, Why};
use patternbench_wire::{Answer, headers_of};
use std::time::SystemTime;

impl<W: Runtime> Runner<W> {
    /// Lets a request of a call begin its way through the policies.
    pub(super) fn ask_policies(&mut self, job: &Job, index: usize, intended: Nanos, possible: Nanos) {
        let begun_us = self.population[index].intended / 1000;
        if let Some(guarded) = self.population.guarded(index) {
            guarded.possible = possible;
            guarded.intended = Some(intended);
            guarded.again = false;
            guarded.attempted = false;
        }
        self.decide(job, index, Event::Begins(begun_us));
    }

    /// Remembers an answer's `Retry-After`.
    pub(super) fn listen(&mut self, attempt: Attempt, key: Key, answer: Answer) {
        if self.policies.is_none() {
            return;
        }
        let asked_us = match answer.status {
            429 | 503 => self
                .links
                .parser(key)
                .and_then(|parser| asked_us(parser.head(), self.links.today())),
            _ => None,
        };
        if let Some(guarded) = self.population.guarded(attempt.session) {
            guarded.asked_us = asked_us;
        }
    }

    /// An attempt has ended: its row is held back, and the policies decide what comes next.
    pub(super) fn guarded_ended(
        &mut self,
        job: &Job,
        attempt: Attempt,
        ended: Ended,
        now: Nanos,
        kept: Option<Key>,
    ) {
        let index = attempt.session;
        let row = self.row(step_of(job, &self.population[index]), attempt, ended, now, false);
        self.timing.attempt_ended(now);
        self.hold(index, row);
        self.keep_wire(index, kept);
        let Some(guarded) = self.population.guarded(index) else {
            return;
        };
        guarded.wires.retain(|(frame, _)| *frame != attempt.frame);
        guarded.again = matches!(ended, Ended::Answer(_, Verdict::Again));
        guarded.possible = now;
        let outcome = outcome_of(ended, guarded.asked_us.take());
        self.decide(job, index, Event::Ended(attempt.frame, outcome));
    }

    /// Holds a row back, and logs the one that was held before: it was not the call's last.
    pub(super) fn hold(&mut self, index: usize, row: Row) {
        let before = self
            .population
            .guarded(index)
            .and_then(|guarded| guarded.held.replace(row));
        before.into_iter().for_each(|row| self.log.push(row));
    }

    /// A session keeps one connection; what is left over is for anybody.
    fn keep_wire(&mut self, index: usize, kept: Option<Key>) {
        let Some(key) = kept else { return };
        let wire = &mut self.population[index].wire;
        match wire {
            None => *wire = Some(key),
            Some(_) => self.links.release(key),
        }
    }

    /// Tells those who waited that they have been given a place in a bulkhead.
    pub(super) fn hand_over(&mut self, job: &Job) {
        while let Some(waiter) = self
            .policies
            .as_mut()
            .and_then(|policies| policies.next_granted())
        {
            let (index, epoch) = ((waiter.who >> 32) as usize, waiter.who as u32);
            let now = self.now();
            if self.population.is_there(index, epoch) {
                self.population
                    .guarded(index)
                    .into_iter()
                    .for_each(|guarded| guarded.possible = now);
                self.decide(job, index, Event::Granted(waiter.frame));
            }
        }
    }

    /// A session's timer for the policies has gone off.
    pub(super) fn wake_policy(&mut self, job: &Job, index: usize, epoch: u32, at: Nanos) {
        if !self.population.is_there(index, epoch) {
            return;
        }
        let guarded = self.population.guarded(index);
        let Some(guarded) = guarded.filter(|guarded| guarded.alarm == Some(at)) else {
            return;
        };
        guarded.alarm = None;
        if let Some(due_us) = guarded.call.wake_at_us() {
            guarded.possible = due_us * 1000;
            self.decide(job, index, Event::Woken);
        }
    }

    fn decide(&mut self, job: &Job, index: usize, event: Event) {
        let now_us = self.now() / 1000;
        let (Some(policies), Some(guarded)) = (
            self.policies.as_deref_mut(),
            self.population[index].guarded.as_deref_mut(),
        ) else {
            return;
        };
        let decisions = policies.decide(&mut guarded.call, event, now_us);
        self.carry_out(job, index, decisions);
    }

    /// Carries decisions out; the end of the call comes last, and may be the beginning of the next.
    fn carry_out(&mut self, job: &Job, index: usize, mut decisions: Vec<Decision>) {
        let mut done = None;
        for decision in decisions.drain(..) {
            match decision {
                Decision::Send { frame } => self.send_frame(job, index, frame),
                Decision::Cancel { frame, why } => self.cancel(job, index, frame, why),
                Decision::Done(outcome) => done = Some(outcome),
            }
        }
        if let Some(policies) = &mut self.policies {
            policies.keep(decisions);
        }
        match done {
            Some(outcome) => self.guarded_done(job, index, outcome == outcome::Outcome::Good),
            None => self.set_alarm(index),
        }
    }

    fn send_frame(&mut self, job: &Job, index: usize, frame: u32) {
        let Some(guarded) = self.population.guarded(index) else {
            return;
        };
        guarded.attempted = true;
        let possible = guarded.possible;
        let intended = guarded.intended.take().unwrap_or(possible);
        self.send_attempt(job, index, frame, intended, possible);
    }

    /// Makes sure that the policies are woken; as with connections, one timer per session is enough.
    fn set_alarm(&mut self, index: usize) {
        let epoch = self.population[index].epoch;
        let Some(guarded) = self.population.guarded(index) else {
            return;
        };
        let Some(at) = guarded.call.wake_at_us().map(|us| us.saturating_mul(1000)) else {
            return;
        };
        if guarded.alarm.is_none_or(|alarm| alarm > at) {
            guarded.alarm = Some(at);
            self.timers.set(at, Alarm::Policy { index, epoch });
        }
    }

    /// Stops waiting for an attempt. Its connection can't be used again: the answer may still come.
    fn cancel(&mut self, job: &Job, index: usize, frame: u32, why: Why) {
        let now = self.now();
        let Some((attempt, ended)) = self.take_attempt(index, frame, why) else {
            return;
        };
        self.timing.attempt_ended(now);
        let row = self.row(step_of(job, &self.population[index]), attempt, ended, now, false);
        match why {
            Why::TimedOut => self.hold(index, row),
            // The faster one is the call's last.
            Why::Superseded => self.log.push(row),
        }
    }

    /// Takes an attempt off its connection, or out of those that failed before they began.
    fn take_attempt(&mut self, index: usize, frame: u32, why: Why) -> Option<(Attempt, Ended)> {
        let is_it = |attempt: &Attempt| attempt.session == index && attempt.frame == frame;
        if let Some((attempt, failure)) = self.links.take_one_failed(is_it) {
            self.totals.count_failure(failure, false);
            return Some((attempt, Ended::Failure(failure)));
        }
        let wires = &mut self.population.guarded(index)?.wires;
        let place = wires.iter().position(|(known, _)| *known == frame)?;
        let (_, key) = wires.swap_remove(place);
        let attempt = self.links.take_attempt(key)?;
        self.links.close(key);
        let ended = match why {
            Why::TimedOut => Ended::Timeout,
            Why::Superseded => Ended::Abandoned,
        };
        Some((attempt, ended))
    }

    /// A request of a call has come through the policies: the call continues asking, or has ended.
    fn guarded_done(&mut self, job: &Job, index: usize, good: bool) {
        let now = self.now();
        let (again, attempted) = self
            .population
            .guarded(index)
            .map_or((false, false), |guarded| (guarded.again, guarded.attempted));
        // A request that the policies keep back ends the call.
        if let Some(at) = self
            .next_attempt(job, index, good && again, good, now)
            .filter(|_| attempted)
        {
            return self.ask_again(job, index, at, now);
        }
        let rejected = self.population[index].attempts == 0;
        self.log_end(job, index, good, Outcome::Rejected, now);
        self.call_ended(job, index, good, rejected, now);
    }

    /// Logs the row that ends a call: that of its last attempt, or one that says why it had none. Where the time is
    /// over (`unsent` is dropped) its journey has not ended.
    fn log_end(&mut self, job: &Job, index: usize, good: bool, unsent: Outcome, now: Nanos) {
        let intended_us = microseconds(self.population[index].intended);
        let held = self
            .population
            .guarded(index)
            .and_then(|guarded| guarded.held.take());
        let mut row = held.unwrap_or_else(|| self.unsent(job, index, unsent, now));
        if row.outcome.was_sent() {
            row.call_response_us = row.end_us - intended_us;
            row.call_success = good;
        }
        if row.success && !good {
            // A good answer that was to be asked again, and then could not.
            (row.success, row.outcome) = (false, Outcome::ExpectationFailed);
        }
        let over = unsent != Outcome::Dropped;
        row.ends_journey = job.log_journeys && over && ends_journey(job, &self.population[index], good);
        self.log.push(row);
    }

    /// The row of a call that was never sent.
    fn unsent(&self, job: &Job, index: usize, outcome: Outcome, now: Nanos) -> Row {
        let session = &self.population[index];
        Row {
            user: session.user,
            group: session.group as u16,
            step: step_of(job, session).name,
            call: session.call,
            attempt: 0,
            status: 0,
            outcome,
            success: false,
            warm_up: !self.timing.is_measured(session.intended),
            intended_us: microseconds(session.intended),
            start_us: microseconds(now),
            first_byte_us: -1,
            end_us: microseconds(now),
            bytes: Row::NO_BYTES,
            lateness_us: 0,
            call_response_us: 0,
            call_success: false,
            redirects: 0,
            journey: session.number,
            ends_journey: false,
            items: step_of(job, session)
                .items
                .as_ref()
                .map_or(0, |items| items.carried),
            failed_items: 0,
        }
    }

    /// Logs what was held back of calls that have not ended when the time for waiting is over.
    pub(super) fn abandon_guarded(&mut self, job: &Job, now: Nanos) {
        for index in self.population.places() {
            let Some(guarded) = self.population.guarded(index) else {
                continue;
            };
            if guarded.call.is_active() {
                self.log_end(job, index, false, Outcome::Dropped, now);
            } else if let Some(row) = guarded.held.take() {
                self.log.push(row);
            }
        }
    }
}

/// The end of an attempt, as policies see it.
fn outcome_of(ended: Ended, retry_after_us: Option<u64>) -> outcome::Outcome {
    if judge(ended).1 {
        return outcome::Outcome::Good;
    }
    let kind = match ended {
        Ended::Answer(_, Verdict::Unexpected) => Kind::Unexpected,
        Ended::Answer(answer, _) => Kind::Status(answer.status),
        Ended::Failure(_) => Kind::Connection,
        Ended::Timeout | Ended::Abandoned => Kind::Timeout,
    };
    outcome::Outcome::Failed(Failure { kind, retry_after_us })
}

/// What a head's `Retry-After` asks for, held against the time of day.
fn asked_us(head: &[u8], today: SystemTime) -> Option<u64> {
    headers_of(head)
        .into_iter()
        .find(|(name, _)| name.eq_ignore_ascii_case("retry-after"))
        .and_then(|(_, value)| retry_after_us(std::str::from_utf8(value).ok()?, today))
}
