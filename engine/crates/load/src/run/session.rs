//! Sessions: a virtual user, or an arrival in flight, on its way through a journey.

use super::Runner;
use super::spread::Spread;
use super::timers::Alarm;
use super::wires::{Attempt, Key};
use crate::job::{Closed, Group, Job, Late, Nanos, Pace, Step, Until, Workload};
use patternbench_attemptlog::{Outcome, Row};
use patternbench_wire::{Answer, Expected, Failure};

/// How an attempt ended, seen from the wire.
#[derive(Debug, Clone, Copy)]
pub enum Ended {
    Answer(Answer),
    Failure(Failure),
    Timeout,
    Abandoned,
}

/// What a group has come to.
pub struct GroupState {
    pub in_flight: u32,
    pub journeys: Spread,
    /// Calls that all its users together may still begin after the warm-up.
    calls_left: u64,
}

impl GroupState {
    pub fn new(group: &Group) -> Self {
        let calls_left = match &group.workload {
            Workload::Closed(Closed {
                until: Some(Until::Calls(calls)),
                ..
            }) => *calls,
            _ => u64::MAX,
        };
        let journeys = Spread::new(group.journeys.iter().map(|journey| journey.weight));
        Self {
            in_flight: 0,
            journeys,
            calls_left,
        }
    }
}

/// A virtual user, or an arrival in flight.
pub struct Session {
    group: usize,
    user: u32,
    epoch: u32,
    is_user: bool,
    journey: usize,
    step: usize,
    /// The number of the present call.
    call: u32,
    /// Intended start of the present call.
    intended: Nanos,
    /// Calls and good calls after the warm-up.
    calls: u64,
    successes: u64,
    /// When the present journey was intended to begin, for users that keep a pace.
    paced: Nanos,
    wire: Option<Key>,
}

impl Session {
    pub fn arrival(group: usize, user: u32, call: u32, journey: usize) -> Self {
        Self {
            group,
            user,
            epoch: 0,
            is_user: false,
            journey,
            step: 0,
            call,
            intended: 0,
            calls: 0,
            successes: 0,
            paced: 0,
            wire: None,
        }
    }

    fn user(group: usize, user: u32) -> Self {
        Self {
            is_user: true,
            ..Self::arrival(group, user, 0, 0)
        }
    }
}

fn step_of<'j>(job: &'j Job, session: &Session) -> &'j Step {
    &job.groups[session.group].journeys[session.journey].steps[session.step]
}

fn microseconds(nanos: Nanos) -> i64 {
    (nanos / 1000) as i64
}

impl Runner {
    pub(super) fn begin_users(&mut self, job: &Job, group: usize) {
        let Workload::Closed(closed) = &job.groups[group].workload else {
            return;
        };
        for user in 0..closed.users {
            let at = closed.start_over * u64::from(user) / u64::from(closed.users);
            let mut session = Session::user(group, user);
            session.paced = at;
            session.journey = self.groups[group].journeys.next();
            let index = self.add_session(session);
            self.go_on_at(job, index, None, at);
        }
    }

    pub(super) fn add_session(&mut self, session: Session) -> usize {
        let entry = self.sessions.vacant_entry();
        let index = entry.key();
        entry.insert(session);
        self.epochs = self.epochs.wrapping_add(1);
        self.sessions[index].epoch = self.epochs;
        index
    }

    fn pause_until(&mut self, index: usize, at: Nanos) {
        let epoch = self.sessions[index].epoch;
        self.timers.set(at, Alarm::Session { index, epoch });
    }

    pub(super) fn wake_session(&mut self, job: &Job, index: usize, epoch: u32, at: Nanos) {
        if self
            .sessions
            .get(index)
            .is_some_and(|session| session.epoch == epoch)
        {
            self.begin_call(job, index, at, at);
        }
    }

    /// Begins the call that a session stands before; `possible` is when it could have begun, to know the generator's lateness.
    pub(super) fn begin_call(&mut self, job: &Job, index: usize, intended: Nanos, possible: Nanos) {
        let now = self.now();
        if self.sessions[index].is_user && !self.may_begin(job, index, intended, now) {
            return self.end_session(index);
        }
        let session = &mut self.sessions[index];
        session.intended = intended;
        self.groups[session.group].in_flight += 1;
        self.send_attempt(job, index, 1, intended, possible);
    }

    /// Whether a user may begin another call; counts it when it does.
    fn may_begin(&mut self, job: &Job, index: usize, intended: Nanos, now: Nanos) -> bool {
        let session = &mut self.sessions[index];
        let Workload::Closed(closed) = &job.groups[session.group].workload else {
            return true;
        };
        if now >= self.end {
            return false;
        }
        let group = &mut self.groups[session.group];
        let left = match closed.until {
            None => true,
            Some(Until::Calls(_)) => group.calls_left > 0,
            Some(Until::CallsPerUser(calls)) => session.calls < calls,
            Some(Until::SuccessesPerUser(successes)) => session.successes < successes,
        };
        if left && intended >= self.warm_up {
            session.calls += 1;
            group.calls_left = group.calls_left.saturating_sub(1);
        }
        left
    }

    fn send_attempt(&mut self, job: &Job, index: usize, number: u16, intended: Nanos, possible: Nanos) {
        let target = self.spread.next();
        let step = step_of(job, &self.sessions[index]);
        let start = self.now();
        let attempt = Attempt {
            session: index,
            number,
            intended,
            start,
            first_byte: None,
            deadline: start.saturating_add(step.timeout),
            lateness: start.saturating_sub(possible),
        };
        let key = match self.wire_for(index, target) {
            Ok(key) => key,
            Err(failure) => return self.stillborn.push((attempt, failure)),
        };
        self.sessions[index].wire = Some(key);
        let expected = Expected {
            to_head_request: step.request.is_head,
            keep_head: false,
            keep_body: 0,
        };
        match self
            .wires
            .send(key, &step.request.rendered[target], expected, attempt)
        {
            Ok(()) => self.watch(key, attempt.deadline),
            Err(failure) => {
                self.wires.close(key);
                self.stillborn.push((attempt, failure));
            }
        }
    }

    /// The connection that a session has, when it goes to the right target, or another.
    fn wire_for(&mut self, index: usize, target: usize) -> Result<Key, Failure> {
        if let Some(key) = self.sessions[index].wire.take() {
            match self.wires.get(key) {
                Some(wire) if wire.target == target => return Ok(key),
                Some(_) => self.wires.release(key),
                None => {}
            }
        }
        self.wires.take(target)
    }

    /// Makes sure that somebody looks when an attempt is overdue. One timer per connection is enough: when it is
    /// early, it is set again, so that a request costs no timer of its own.
    fn watch(&mut self, key: Key, deadline: Nanos) {
        let Some(wire) = self.wires.get_mut(key) else {
            return;
        };
        if wire.alarm.is_none_or(|alarm| alarm > deadline) {
            wire.alarm = Some(deadline);
            self.timers.set(
                deadline,
                Alarm::Wire {
                    index: key.index,
                    epoch: key.epoch,
                },
            );
        }
    }

    /// An attempt has ended: log it, and let its session go on.
    pub(super) fn attempt_ended(
        &mut self,
        job: &Job,
        attempt: Attempt,
        ended: Ended,
        now: Nanos,
        kept: Option<Key>,
    ) {
        let index = attempt.session;
        let step = step_of(job, &self.sessions[index]);
        let (outcome, success) = judge(step, ended);
        if let Ended::Failure(failure) = ended {
            self.failures[failure as usize] += 1;
        }
        self.log_attempt(step, attempt, ended, outcome, success, now);
        let session = &mut self.sessions[index];
        session.wire = kept;
        self.groups[session.group].in_flight -= 1;
        if success && session.intended >= self.warm_up {
            session.successes += 1;
        }
        self.go_on(job, index, now);
    }

    fn log_attempt(
        &mut self,
        step: &Step,
        attempt: Attempt,
        ended: Ended,
        outcome: Outcome,
        success: bool,
        now: Nanos,
    ) {
        let session = &self.sessions[attempt.session];
        let (status, bytes) = match ended {
            Ended::Answer(answer) => (
                answer.status,
                u32::try_from(answer.bytes).unwrap_or(Row::NO_BYTES - 1),
            ),
            _ => (0, Row::NO_BYTES),
        };
        self.last_end = now;
        self.log.push(Row {
            user: session.user,
            group: session.group as u16,
            step: step.name,
            call: session.call,
            attempt: attempt.number,
            status,
            outcome,
            success,
            warm_up: session.intended < self.warm_up,
            intended_us: microseconds(attempt.intended),
            start_us: microseconds(attempt.start),
            first_byte_us: attempt.first_byte.map_or(-1, microseconds),
            end_us: microseconds(now),
            bytes,
            lateness_us: u32::try_from(attempt.lateness / 1000).unwrap_or(u32::MAX),
            call_response_us: microseconds(now) - microseconds(session.intended),
            call_success: success,
        });
    }

    /// After a call: the next step, or the next journey, or the end.
    fn go_on(&mut self, job: &Job, index: usize, now: Nanos) {
        let session = &mut self.sessions[index];
        session.call = session.call.wrapping_add(1);
        session.step += 1;
        let steps = &job.groups[session.group].journeys[session.journey].steps;
        if let Some(step) = steps.get(session.step) {
            let at = now + step.pause;
            return self.go_on_at(job, index, Some(now), at);
        }
        if !session.is_user {
            return self.end_session(index);
        }
        session.step = 0;
        session.journey = self.groups[session.group].journeys.next();
        let at = next_journey(job, &mut self.sessions[index], now);
        self.go_on_at(job, index, Some(now), at);
    }

    /// Lets a session's next call begin at a moment: now, when it has come, or later.
    fn go_on_at(&mut self, job: &Job, index: usize, now: Option<Nanos>, at: Nanos) {
        match now {
            _ if at >= self.end && self.sessions[index].is_user => self.end_session(index),
            Some(now) if at <= now => self.begin_call(job, index, at, now),
            _ => self.pause_until(index, at),
        }
    }

    fn end_session(&mut self, index: usize) {
        let session = self.sessions.remove(index);
        if let Some(key) = session.wire {
            self.wires.release(key);
        }
    }

    /// Logs what is still in flight when the time for waiting is over.
    pub(super) fn abandon(&mut self, job: &Job, now: Nanos) {
        for attempt in self.wires.attempts() {
            self.abandoned += 1;
            let step = step_of(job, &self.sessions[attempt.session]);
            let (outcome, success) = judge(step, Ended::Abandoned);
            self.log_attempt(step, attempt, Ended::Abandoned, outcome, success, now);
        }
    }
}

/// When a user's next journey is intended to begin.
fn next_journey(job: &Job, session: &mut Session, now: Nanos) -> Nanos {
    let Workload::Closed(closed) = &job.groups[session.group].workload else {
        return now;
    };
    let Some(Pace { every, late }) = closed.pace else {
        return now + closed.think;
    };
    session.paced += every;
    if late == Late::Shift && session.paced < now {
        session.paced = now;
    }
    session.paced
}

/// What became of an attempt, and whether it is good.
fn judge(step: &Step, ended: Ended) -> (Outcome, bool) {
    match ended {
        Ended::Answer(answer) => (Outcome::Answered, step.expect.allows(answer.status)),
        Ended::Failure(_) => (Outcome::ConnectionError, false),
        Ended::Timeout => (Outcome::Timeout, false),
        Ended::Abandoned => (Outcome::Cancelled, false),
    }
}
