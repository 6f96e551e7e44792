//! Sessions: a virtual user, or an arrival in flight, on its way through a journey.

use super::Runner;
use super::guarded::Guarded;
use super::redirects::Trip;
use super::spread::Spread;
use super::timers::Alarm;
use super::wires::{Attempt, Key};
use crate::jar::Jar;
use crate::job::{
    Closed, Expectation, Feeder, Group, Job, Journey, Kept, Late, Nanos, Pace, Poll, Step, Until, Workload,
};
use crate::template::Values;
use patternbench_attemptlog::{Outcome, Row};
use patternbench_wire::{Answer, Failure};
use rand_core::Rng;
use rand_pcg::Pcg64;

/// How an attempt ended, seen from the wire.
#[derive(Debug, Clone, Copy)]
pub enum Ended {
    Answer(Answer, Verdict),
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
    /// How many calls each user of an open workload has made.
    calls_of_user: Vec<u32>,
    /// Whether its users have something to remember.
    scripted: bool,
    /// The feeder's next line.
    next_line: usize,
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
        let users = match &group.workload {
            Workload::Open(open) => open.users as usize,
            Workload::Closed(_) => 0,
        };
        Self {
            in_flight: 0,
            journeys: Spread::new(group.journeys.iter().map(|journey| journey.weight)),
            calls_left,
            calls_of_user: vec![0; users],
            scripted: !group.feeder.lines.is_empty() || group.journeys.iter().any(Journey::is_scripted),
            next_line: 0,
        }
    }

    /// The number of the next call of a user of an open workload.
    pub fn next_call(&mut self, user: u32) -> u32 {
        let calls = &mut self.calls_of_user[user as usize];
        *calls = calls.wrapping_add(1);
        *calls - 1
    }

    /// The line of the feeder for the next journey.
    fn feed(&mut self, feeder: &Feeder, random: &mut Pcg64) -> usize {
        let lines = feeder.lines.len().max(1);
        self.next_line = (self.next_line + 1) % lines;
        if feeder.random {
            (random.next_u64() % lines as u64) as usize
        } else {
            (self.next_line + lines - 1) % lines
        }
    }
}

/// A virtual user, or an arrival in flight.
pub struct Session {
    pub(super) group: usize,
    pub(super) user: u32,
    pub(super) epoch: u32,
    is_user: bool,
    journey: usize,
    step: usize,
    /// The number of the present call.
    pub(super) call: u32,
    /// Intended start of the present call.
    pub(super) intended: Nanos,
    /// Calls and good calls after the warm-up.
    calls: u64,
    successes: u64,
    /// When the present journey was intended to begin, for users that keep a pace.
    paced: Nanos,
    pub(super) wire: Option<Key>,
    /// Attempts of the present call.
    pub(super) attempts: u16,
    /// How its calls go through the policies, when there are any.
    pub(super) guarded: Option<Box<Guarded>>,
    /// What it remembers, when its journey has anything to remember.
    pub(super) memory: Option<Box<Memory>>,
}

/// What a user remembers on its way.
#[derive(Default)]
pub(super) struct Memory {
    captured: Vec<String>,
    pub(super) jar: Jar,
    line: usize,
    /// Whether the present call asks again and again.
    polling: bool,
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

impl Session {
    pub fn arrival(group: usize, user: u32, journey: usize) -> Self {
        Self {
            group,
            user,
            epoch: 0,
            is_user: false,
            journey,
            step: 0,
            call: 0,
            intended: 0,
            calls: 0,
            successes: 0,
            paced: 0,
            wire: None,
            attempts: 0,
            guarded: None,
            memory: None,
        }
    }

    fn user(group: usize, user: u32) -> Self {
        Self {
            is_user: true,
            ..Self::arrival(group, user, 0)
        }
    }
}

pub(super) fn journey_of<'j>(job: &'j Job, session: &Session) -> &'j Journey {
    &job.groups[session.group].journeys[session.journey]
}

pub(super) fn step_of<'j>(job: &'j Job, session: &Session) -> &'j Step {
    let journey = journey_of(job, session);
    // A session stands before or in a step of its journey until it ends.
    &journey.steps[journey.order[session.step]]
}

pub(super) fn microseconds(nanos: Nanos) -> i64 {
    (nanos / 1000) as i64
}

impl Runner {
    pub(super) fn begin_users(&mut self, job: &Job, group: usize) {
        let Workload::Closed(closed) = &job.groups[group].workload else {
            return;
        };
        for user in 0..closed.users {
            let at = u128::from(closed.start_over) * u128::from(user) / u128::from(closed.users);
            let at = at as Nanos;
            let mut session = Session::user(group, user);
            session.paced = at;
            let index = self.add_session(session);
            self.begin_journey(job, index, None);
            self.go_on_at(job, index, None, at);
        }
    }

    pub(super) fn add_session(&mut self, mut session: Session) -> usize {
        self.epochs = self.epochs.wrapping_add(1);
        session.epoch = self.epochs;
        let group = &mut self.groups[session.group];
        group.in_flight += u32::from(!session.is_user);
        session.memory = group.scripted.then(Box::default);
        session.guarded = self
            .policies
            .as_ref()
            .map(|_| Guarded::new(self.sessions.vacant_key(), &session));
        self.sessions.insert(session)
    }

    /// Puts a session before the first step of a journey: the given one, or the next in turn.
    pub(super) fn begin_journey(&mut self, job: &Job, index: usize, journey: Option<usize>) {
        let session = &mut self.sessions[index];
        let group = &mut self.groups[session.group];
        session.step = 0;
        session.journey = journey.unwrap_or_else(|| group.journeys.next());
        if let Some(memory) = &mut session.memory {
            let group_job = &job.groups[session.group];
            memory.captured.clear();
            memory
                .captured
                .resize(group_job.journeys[session.journey].captured, String::new());
            memory.line = group.feed(&group_job.feeder, &mut self.random);
        }
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
            if self.sessions[index]
                .memory
                .as_ref()
                .is_some_and(|memory| memory.polling)
            {
                self.ask(job, index, at, at);
            } else {
                self.begin_call(job, index, at, at);
            }
        }
    }

    /// Begins the call that a session stands before; `possible` is when it could have begun, to know the generator's lateness.
    pub(super) fn begin_call(&mut self, job: &Job, index: usize, intended: Nanos, possible: Nanos) {
        let now = self.now();
        if self.sessions[index].is_user && !self.may_begin(job, index, intended, now) {
            return self.end_session(index);
        }
        let session = &mut self.sessions[index];
        let group = &mut self.groups[session.group];
        session.intended = intended;
        session.attempts = 0;
        if session.is_user {
            group.in_flight += 1;
        } else {
            session.call = group.next_call(session.user);
        }
        self.ask(job, index, intended, possible);
    }

    /// Sends a request of a call, through the policies when there are any.
    fn ask(&mut self, job: &Job, index: usize, intended: Nanos, possible: Nanos) {
        if self.sessions[index].guarded.is_some() {
            self.ask_policies(job, index, intended, possible);
        } else {
            self.send_attempt(job, index, 0, intended, possible);
        }
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

    pub(super) fn send_attempt(
        &mut self,
        job: &Job,
        index: usize,
        frame: u32,
        intended: Nanos,
        possible: Nanos,
    ) {
        let target = self.spread.next();
        let session = &mut self.sessions[index];
        session.attempts = session.attempts.saturating_add(1);
        let step = step_of(job, session);
        let start = self.now();
        let attempt = Attempt {
            session: index,
            number: self.sessions[index].attempts,
            frame,
            intended,
            start,
            first_byte: None,
            deadline: start.saturating_add(step.timeout),
            lateness: start.saturating_sub(possible),
            hops: 0,
        };
        let sent = self.wire_for(index, target).and_then(|key| {
            self.hold_wire(attempt, key);
            let sent = self.send_request(job, step, key, target, attempt);
            self.sent(key, attempt, sent)
        });
        if let Err(failure) = sent {
            self.stillborn.push((attempt, failure));
        }
    }

    /// Remembers which connection carries an attempt.
    pub(super) fn hold_wire(&mut self, attempt: Attempt, key: Key) {
        match &mut self.sessions[attempt.session] {
            Session {
                guarded: Some(guarded),
                ..
            } => guarded.wires.push((attempt.frame, key)),
            session => session.wire = Some(key),
        }
    }

    pub(super) fn forget_wire(&mut self, attempt: Attempt) {
        match &mut self.sessions[attempt.session] {
            Session {
                guarded: Some(guarded),
                ..
            } => guarded.wires.retain(|(frame, _)| *frame != attempt.frame),
            session => session.wire = None,
        }
    }

    /// Watches a connection over which something was sent; one that could not send is of no use.
    pub(super) fn sent(
        &mut self,
        key: Key,
        attempt: Attempt,
        sent: Result<(), Failure>,
    ) -> Result<(), Failure> {
        match sent {
            Ok(()) => self.watch(key, attempt.deadline),
            Err(_) => self.wires.close(key),
        }
        sent
    }

    fn send_request(
        &mut self,
        job: &Job,
        step: &Step,
        key: Key,
        target: usize,
        attempt: Attempt,
    ) -> Result<(), Failure> {
        let Some(mut memory) = self.sessions[attempt.session].memory.take() else {
            // Without a memory nothing varies: see `Journey::is_scripted`.
            let bytes = step.request.fixed(target).unwrap_or_default();
            return self.wires.send(key, bytes, step.expected, attempt, None);
        };
        let cookies = journey_of(job, &self.sessions[attempt.session]).cookies;
        let (request, expected) = match &step.poll {
            Some(poll) if memory.polling => (&poll.request, poll.expected),
            _ => (&step.request, step.expected),
        };
        let session = &self.sessions[attempt.session];
        let no_columns = Vec::new();
        let columns = job.groups[session.group]
            .feeder
            .lines
            .get(memory.line)
            .unwrap_or(&no_columns);
        let mut values = Values {
            user: session.user,
            call: session.call,
            counters: &mut self.counters,
            columns,
            captured: &memory.captured,
            random: &mut self.random,
        };
        let lasting = cookies || step.max_redirects > 0;
        let sent = match request.fixed(target).filter(|_| !lasting) {
            Some(bytes) => self.wires.send(key, bytes, expected, attempt, None),
            None => {
                let request = request.fill(&job.targets[target].0, &mut values);
                let jar = cookies.then_some(&memory.jar);
                self.send_trip(job, key, Trip { request, expected }, jar, attempt)
            }
        };
        memory.polling &= step.poll.is_some();
        self.sessions[attempt.session].memory = Some(memory);
        sent
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
        let (_, success) = judge(ended);
        if let Ended::Failure(failure) = ended {
            self.failures[failure as usize] += 1;
        }
        if self.sessions[index].guarded.is_some() {
            return self.guarded_ended(job, attempt, ended, now, kept);
        }
        let ends = !matches!(ended, Ended::Answer(_, Verdict::Again));
        self.log_attempt(step, attempt, ended, now, ends);
        self.sessions[index].wire = kept;
        if let (Ended::Answer(_, Verdict::Again), Some(poll)) = (ended, &step.poll) {
            return self.ask_again(index, now + poll.every);
        }
        self.call_ended(job, index, success, false, now);
    }

    /// A call has ended, and its session goes on.
    pub(super) fn call_ended(&mut self, job: &Job, index: usize, success: bool, rejected: bool, now: Nanos) {
        let session = &mut self.sessions[index];
        session
            .memory
            .iter_mut()
            .for_each(|memory| memory.polling = false);
        if session.is_user {
            self.groups[session.group].in_flight -= 1;
        }
        if success && session.intended >= self.warm_up {
            session.successes += 1;
        }
        self.go_on(job, index, success, rejected, now);
    }

    pub(super) fn ask_again(&mut self, index: usize, at: Nanos) {
        self.sessions[index]
            .memory
            .iter_mut()
            .for_each(|memory| memory.polling = true);
        self.pause_until(index, at);
    }

    fn log_attempt(&mut self, step: &Step, attempt: Attempt, ended: Ended, now: Nanos, ends: bool) {
        self.last_end = now;
        let row = self.row(step, attempt, ended, now, ends);
        self.log.push(row);
    }

    /// The row of an attempt; `ends` tells whether its call ends with it.
    pub(super) fn row(&self, step: &Step, attempt: Attempt, ended: Ended, now: Nanos, ends: bool) -> Row {
        let (outcome, success) = judge(ended);
        let session = &self.sessions[attempt.session];
        let (status, bytes) = match ended {
            Ended::Answer(answer, _) => (
                answer.status,
                u32::try_from(answer.bytes).unwrap_or(Row::NO_BYTES - 1),
            ),
            _ => (0, Row::NO_BYTES),
        };
        Row {
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
            call_response_us: if ends {
                microseconds(now) - microseconds(session.intended)
            } else {
                -1
            },
            call_success: success,
            redirects: attempt.hops,
        }
    }

    /// After a call: the next step, or the next journey, or the end.
    fn go_on(&mut self, job: &Job, index: usize, success: bool, rejected: bool, now: Nanos) {
        let session = &mut self.sessions[index];
        // What costs nothing would else be done again at once, and for ever.
        let (moment, rest) = if rejected {
            (None, rejected_pause(job, session))
        } else {
            (Some(now), 0)
        };
        session.call = session.call.wrapping_add(1);
        session.step += 1;
        let journey = journey_of(job, session);
        if let Some(step) = journey
            .step(session.step)
            .filter(|_| success || !journey.stop_on_failure)
        {
            let at = now + step.pause + rest;
            return self.go_on_at(job, index, moment, at);
        }
        if !session.is_user {
            return self.end_session(index);
        }
        let at = next_journey(job, session, now) + rest;
        self.begin_journey(job, index, None);
        self.go_on_at(job, index, moment, at);
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
        self.groups[session.group].in_flight -= u32::from(!session.is_user);
        if let Some(key) = session.wire {
            self.wires.release(key);
        }
    }

    /// Logs what is still in flight when the time for waiting is over.
    pub(super) fn abandon(&mut self, job: &Job, now: Nanos) {
        for attempt in self.wires.attempts() {
            self.abandoned += 1;
            let step = step_of(job, &self.sessions[attempt.session]);
            if self.sessions[attempt.session].guarded.is_some() {
                let row = self.row(step, attempt, Ended::Abandoned, now, false);
                self.last_end = now;
                self.hold(attempt.session, row);
            } else {
                self.log_attempt(step, attempt, Ended::Abandoned, now, true);
            }
        }
        self.abandon_guarded(job, now);
    }
}

/// How much longer a user waits after a rejected call; one that keeps a pace is held back by that.
fn rejected_pause(job: &Job, session: &Session) -> Nanos {
    match &job.groups[session.group].workload {
        Workload::Closed(Closed { pace: None, .. }) => job.rejected_pause,
        _ => 0,
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
