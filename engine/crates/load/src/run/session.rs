//! Sessions: a virtual user, or an arrival in flight, on its way through a journey.

use super::Runner;
use super::guarded::Guarded;
use super::spread::Spread;
use super::timers::Alarm;
use super::wires::Key;
use crate::jar::Jar;
use crate::job::{Closed, Feeder, Group, Job, Journey, Late, Nanos, Pace, Step, Until, Workload};
use rand_core::Rng;
use rand_pcg::Pcg64;

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
    /// `traced` makes its users remember all they do, so that it can be told.
    pub fn new(group: &Group, traced: bool) -> Self {
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
            scripted: traced
                || !group.feeder.lines.is_empty()
                || group.journeys.iter().any(Journey::is_scripted),
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
    pub(super) captured: Vec<String>,
    pub(super) jar: Jar,
    pub(super) line: usize,
    /// Whether the present call asks again and again.
    pub(super) polling: bool,
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
