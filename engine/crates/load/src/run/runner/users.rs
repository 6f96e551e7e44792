//! What users and arrivals do: begin calls, pause, take the next step, and end.

use super::Runner;
use crate::job::{Closed, Job, Late, Until, Workload};
use crate::run::runtime::Runtime;
use crate::run::session::{GroupState, Session, advance, ends_journey, group_of, journey_of, step_of};
use crate::run::timers::Alarm;
use crate::units::Nanos;

impl<W: Runtime> Runner<W> {
    pub(super) fn begin_users(&mut self, job: &Job, group: usize) {
        let Workload::Closed(closed) = &job.groups[group].workload else {
            return;
        };
        for user in (job.part.index()..closed.users).step_by(job.part.of() as usize) {
            let at = u128::from(closed.start_over) * u128::from(user) / u128::from(closed.users);
            let at = at as Nanos;
            let mut session = Session::user(group, user);
            session.paced = at;
            let index = self.population.add(session);
            self.begin_journey(job, index, None);
            self.go_on_at(job, index, None, at);
        }
    }

    /// Puts a session before the first step of a journey: the given one with its turn, or the next in turn.
    pub(super) fn begin_journey(&mut self, job: &Job, index: usize, given: Option<(usize, u64)>) {
        let number = self.population.number_journey();
        let (session, group) = self.population.with_group(index);
        session.step = 0;
        session.fresh = true;
        session.number = number;
        let (journey, turn) = given.unwrap_or_else(|| {
            let turn = turn_of_user(group, session);
            (group.next_journey(turn), turn)
        });
        session.journey = journey;
        session.begun += 1;
        if let Some(memory) = &mut session.memory {
            let group_job = &job.groups[session.group];
            memory.items.clear();
            memory.captured.clear();
            memory
                .captured
                .resize(group_job.journeys[session.journey].captured, String::new());
            memory.line = self.draws.line(group, &group_job.feeder, turn);
        }
    }

    fn pause_until(&mut self, index: usize, at: Nanos) {
        let epoch = self.population[index].epoch;
        self.timers.set(at, Alarm::Session { index, epoch });
    }

    pub(super) fn wake_session(&mut self, job: &Job, index: usize, epoch: u32, at: Nanos) {
        if self.population.is_there(index, epoch) {
            if self.population[index].again {
                self.ask(job, index, at, at);
            } else {
                self.begin_call(job, index, at, at);
            }
        }
    }

    /// Begins a session's next call; `possible` is when it could have begun, to know the generator's lateness.
    pub(super) fn begin_call(&mut self, job: &Job, index: usize, intended: Nanos, possible: Nanos) {
        let now = self.now();
        if self.population[index].is_user {
            if !self.wants_more(job, index, now) {
                return self.end_session(index);
            }
            self.count_call(index, intended);
        }
        let (session, group) = self.population.with_group(index);
        session.intended = intended;
        session.attempts = 0;
        session.failed_items = 0;
        if std::mem::take(&mut session.fresh) {
            session.measured = self.timing.is_measured(intended);
        }
        if session.is_user {
            group.in_flight += 1;
        } else if group.split.is_none() {
            session.call = group.next_call(session.user);
        }
        self.ask(job, index, intended, possible);
    }

    /// Sends a request of a call, through the policies when there are any.
    fn ask(&mut self, job: &Job, index: usize, intended: Nanos, possible: Nanos) {
        if self.population[index].guarded.is_some() {
            self.ask_policies(job, index, intended, possible);
        } else {
            self.send_attempt(job, index, 0, intended, possible);
        }
    }

    /// Whether a user may begin another call.
    fn wants_more(&self, job: &Job, index: usize, now: Nanos) -> bool {
        let session = &self.population[index];
        let Workload::Closed(closed) = &job.groups[session.group].workload else {
            return true;
        };
        let left = |until: &Until| match until {
            Until::Calls(_) => self.population.group(session.group).calls_left > 0,
            Until::CallsPerUser(calls) => session.calls < *calls,
            Until::SuccessesPerUser(successes) => session.successes < *successes,
            Until::JourneysPerUser(journeys) => session.journeys < *journeys,
            Until::AttemptsPerUser(attempts) => session.sent < *attempts,
        };
        now < self.timing.end() && closed.until.iter().all(left)
    }

    /// Counts a call that a user begins; those of the warm-up end nothing.
    fn count_call(&mut self, index: usize, intended: Nanos) {
        if self.timing.is_measured(intended) {
            let (session, group) = self.population.with_group(index);
            session.calls += 1;
            group.calls_left = group.calls_left.saturating_sub(1);
        }
    }

    /// A call has ended, and its session continues.
    pub(super) fn call_ended(&mut self, job: &Job, index: usize, success: bool, rejected: bool, now: Nanos) {
        let (session, group) = self.population.with_group(index);
        session.again = false;
        if session.is_user {
            group.in_flight -= 1;
        }
        if success && self.timing.is_measured(session.intended) {
            session.successes += 1;
        }
        if session.measured && ends_journey(job, session, success) {
            session.journeys += 1;
            self.totals.count_journey();
        }
        self.go_on(job, index, success, rejected, now);
    }

    /// When a call that has not ended asks again: its poll is not answered yet, or it is repeated until it is as
    /// expected.
    pub(super) fn next_attempt(
        &self,
        job: &Job,
        index: usize,
        polls: bool,
        success: bool,
        now: Nanos,
    ) -> Option<Nanos> {
        let session = &self.population[index];
        let step = step_of(job, session);
        match (&step.poll, &step.until_expected) {
            (Some(poll), _) => polls.then(|| now + poll.every),
            (None, Some(repeat)) => {
                let at = request_turn(job, session, now).unwrap_or(now + repeat.every);
                let in_time = at < self.timing.end() && at <= session.intended.saturating_add(repeat.limit);
                (!success && in_time && session.attempts < repeat.attempts).then_some(at)
            }
            (None, None) => None,
        }
    }

    /// Sends another request of the present call at a moment, or now when that has come.
    pub(super) fn ask_again(&mut self, job: &Job, index: usize, at: Nanos, now: Nanos) {
        let session = &mut self.population[index];
        session.again = true;
        if group_of(job, session).workload.turns() {
            session.paced = at;
        }
        if at <= now {
            return self.ask(job, index, at, now);
        }
        self.pause_until(index, at);
    }

    /// After a call: the next step, or the next journey, or the end.
    fn go_on(&mut self, job: &Job, index: usize, success: bool, rejected: bool, now: Nanos) {
        if self.population[index].is_user && !self.wants_more(job, index, now) {
            return self.end_session(index);
        }
        let session = &mut self.population[index];
        // A rejected call takes no time: without a pause the user would spin.
        let (moment, rest) = if rejected {
            (None, rejected_pause(job, session))
        } else {
            (Some(now), 0)
        };
        session.call = session.call.wrapping_add(1);
        let journey = journey_of(job, session);
        if (success || !journey.stop_on_failure) && advance(journey, session) {
            let pause = step_of(job, session).pause + rest;
            let at = next_step(job, session, now + pause);
            return self.go_on_at(job, index, moment, at);
        }
        if !session.is_user {
            return self.end_session(index);
        }
        let at = next_journey(job, session, now) + rest;
        self.begin_journey(job, index, None);
        self.go_on_at(job, index, moment, at);
    }

    /// Lets a session's next call begin at a moment: now, when it has come, or later. No user waits beyond the load's
    /// end.
    fn go_on_at(&mut self, job: &Job, index: usize, now: Option<Nanos>, at: Nanos) {
        let end = self.timing.end();
        match now {
            _ if at >= end && self.population[index].is_user => self.pause_until(index, end),
            Some(now) if at <= now => self.begin_call(job, index, at, now),
            _ => self.pause_until(index, at),
        }
    }

    fn end_session(&mut self, index: usize) {
        if let Some(key) = self.population.remove(index) {
            self.links.release(key);
        }
    }
}

/// The turn of a closed user's next journey in the whole load; of no matter where all of it is made here.
fn turn_of_user(group: &GroupState, session: &Session) -> u64 {
    let split = group.split.as_ref();
    split.map_or(0, |split| split.turn_of_user(session.user, session.begun))
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
    match (turn(job, session, now), &group_of(job, session).workload) {
        (Some(at), _) => {
            session.paced = at;
            at
        }
        (None, Workload::Closed(closed)) => now + closed.think,
        (None, Workload::Open(_)) => now,
    }
}

/// When a user's next step is intended: at its turn where every request has one, else after the pause.
fn next_step(job: &Job, session: &mut Session, after_pause: Nanos) -> Nanos {
    let Some(at) = request_turn(job, session, after_pause) else {
        return after_pause;
    };
    session.paced = at;
    at
}

/// A user's next turn, where each of its requests waits for one.
fn request_turn(job: &Job, session: &Session, now: Nanos) -> Option<Nanos> {
    turn(job, session, now).filter(|_| group_of(job, session).workload.turns())
}

/// A user's next turn, where it keeps a pace.
fn turn(job: &Job, session: &Session, now: Nanos) -> Option<Nanos> {
    let Workload::Closed(Closed { pace: Some(pace), .. }) = &group_of(job, session).workload else {
        return None;
    };
    let at = session.paced + pace.every;
    Some(if pace.late == Late::Shift { at.max(now) } else { at })
}
