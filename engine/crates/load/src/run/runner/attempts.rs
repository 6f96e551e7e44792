//! Attempts: sent over a connection, watched, ended and logged.

use super::Runner;
use crate::job::{Job, Step};
use crate::run::runtime::Runtime;
use crate::run::session::{Session, ends_journey, group_of, journey_of, microseconds, step_of};
use crate::run::timers::Alarm;
use crate::run::trace::keeping;
use crate::run::verdict::{Ended, Verdict, judge};
use crate::run::wires::{Attempt, Key, Trip, Wire};
use crate::template::Values;
use crate::units::Nanos;
use patternbench_attemptlog::Row;
use patternbench_wire::Failure;

impl<W: Runtime> Runner<W> {
    pub(super) fn send_attempt(
        &mut self,
        job: &Job,
        index: usize,
        frame: u32,
        intended: Nanos,
        possible: Nanos,
    ) {
        let target = self.next_target(job, index);
        let session = &mut self.population[index];
        session.attempts = session.attempts.saturating_add(1);
        session.sent += u64::from(self.timing.is_measured(session.intended));
        let step = step_of(job, session);
        let start = self.now();
        let attempt = Attempt {
            session: index,
            number: self.population[index].attempts,
            frame,
            intended,
            start,
            first_byte: None,
            deadline: start.saturating_add(step.timeout),
            lateness: start.saturating_sub(possible),
            hops: 0,
        };
        let sent = self.wire_for(job, index, target).and_then(|key| {
            self.hold_wire(attempt, key);
            let sent = self.send_request(job, step, key, target, attempt);
            self.sent(key, attempt, sent)
        });
        if let Err(failure) = sent {
            self.links.fail(attempt, failure);
        }
    }

    /// Where the next request of a session goes: to the target whose turn it is, or to the one that its user keeps to.
    fn next_target(&mut self, job: &Job, index: usize) -> usize {
        let session = &self.population[index];
        if group_of(job, session).sticky {
            self.links.target_of(session.user)
        } else {
            self.links.next_target()
        }
    }

    /// Remembers which connection carries an attempt.
    pub(super) fn hold_wire(&mut self, attempt: Attempt, key: Key) {
        match &mut self.population[attempt.session] {
            Session {
                guarded: Some(guarded),
                ..
            } => guarded.wires.push((attempt.frame, key)),
            session => session.wire = Some(key),
        }
    }

    pub(super) fn forget_wire(&mut self, attempt: Attempt) {
        match &mut self.population[attempt.session] {
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
            Ok(()) => {
                if self.links.get(key).is_some_and(Wire::is_sending) {
                    self.patience.lose();
                }
                self.watch(key, attempt.deadline);
            }
            Err(_) => self.links.close(key),
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
        let Some(memory) = self.population[attempt.session].memory.take() else {
            // Without a memory nothing varies: see `Journey::is_scripted`.
            let bytes = step.request.fixed(target).unwrap_or_default();
            let request = (bytes, step.expected);
            return self.links.send(key, request, attempt, None);
        };
        let cookies = journey_of(job, &self.population[attempt.session]).cookies;
        let session = &self.population[attempt.session];
        let (request, expected) = match &step.poll {
            Some(poll) if session.again => (&poll.request, poll.expected),
            _ => (&step.request, step.expected),
        };
        let no_columns = Vec::new();
        let columns = job.groups[session.group]
            .feeder
            .lines
            .get(memory.line)
            .unwrap_or(&no_columns);
        let (counters, random) = self.draws.sources();
        let mut values = Values {
            user: session.user,
            call: session.call,
            counters,
            columns,
            captured: &memory.captured,
            item: memory.present(),
            random,
        };
        let traced = self.trace.is_some();
        let expected = if traced { keeping(expected) } else { expected };
        let lasting = traced || cookies || step.max_redirects > 0;
        let sent = match request.fixed(target).filter(|_| !lasting) {
            Some(bytes) => self.links.send(key, (bytes, expected), attempt, None),
            None => {
                let request = request.fill(&job.targets[target].0, &mut values);
                let jar = cookies.then_some(&memory.jar);
                self.send_trip(job, key, Trip { request, expected }, jar, attempt)
            }
        };
        self.population[attempt.session].memory = Some(memory);
        sent
    }

    /// The connection that a session has, when it goes to the right target, or another.
    fn wire_for(&mut self, job: &Job, index: usize, target: usize) -> Result<Key, Failure> {
        if group_of(job, &self.population[index]).new_connections {
            return self.links.take(target, true);
        }
        if let Some(key) = self.population[index].wire.take() {
            match self.links.get(key) {
                Some(wire) if wire.target == target => return Ok(key),
                Some(_) => self.links.release(key),
                None => {}
            }
        }
        self.links.take(target, false)
    }

    /// Makes sure that someone looks when an attempt is overdue. One timer per connection is enough: when it is
    /// early, it is set again, so that a request costs no timer of its own.
    fn watch(&mut self, key: Key, deadline: Nanos) {
        let Some(wire) = self.links.get_mut(key) else {
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

    /// An attempt has ended: log it, and let its session continue.
    pub(super) fn attempt_ended(
        &mut self,
        job: &Job,
        attempt: Attempt,
        ended: Ended,
        now: Nanos,
        kept: Option<Key>,
    ) {
        let index = attempt.session;
        let step = step_of(job, &self.population[index]);
        let (_, success) = judge(ended);
        if self.timing.is_warm_up_open() && matches!(ended, Ended::Answer(..)) {
            self.warmed(job, now.saturating_sub(attempt.start));
        }
        if let Ended::Failure(failure) = ended {
            let measured = self.timing.is_measured(self.population[index].intended);
            self.totals.count_failure(failure, measured);
        }
        self.trace_failure(job, attempt, ended, now);
        if self.population[index].guarded.is_some() {
            return self.guarded_ended(job, attempt, ended, now, kept);
        }
        let again = self.next_attempt(
            job,
            index,
            matches!(ended, Ended::Answer(_, Verdict::Again)),
            success,
            now,
        );
        self.log_attempt(job, step, attempt, ended, now, again.is_none());
        self.population[index].wire = kept;
        match again {
            Some(at) => self.ask_again(job, index, at, now),
            None => self.call_ended(job, index, success, false, now),
        }
    }

    fn log_attempt(
        &mut self,
        job: &Job,
        step: &Step,
        attempt: Attempt,
        ended: Ended,
        now: Nanos,
        ends: bool,
    ) {
        self.timing.attempt_ended(now);
        let mut row = self.row(step, attempt, ended, now, ends);
        let session = &self.population[attempt.session];
        let over = ends && !matches!(ended, Ended::Abandoned);
        row.ends_journey = job.log_journeys && over && ends_journey(job, session, row.success);
        self.log.push(row);
    }

    /// The row of an attempt; `ends` tells whether its call ends with it.
    pub(super) fn row(&self, step: &Step, attempt: Attempt, ended: Ended, now: Nanos, ends: bool) -> Row {
        let (outcome, success) = judge(ended);
        let session = &self.population[attempt.session];
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
            warm_up: !self.timing.is_measured(session.intended),
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
            journey: session.number,
            ends_journey: false,
            items: step.items.as_ref().map_or(0, |items| items.carried),
            failed_items: session.failed_items,
        }
    }

    /// Logs what is still in flight when the time for waiting is over.
    pub(super) fn abandon(&mut self, job: &Job, now: Nanos) {
        for attempt in self.links.attempts() {
            self.totals.count_abandoned();
            let step = step_of(job, &self.population[attempt.session]);
            if self.population[attempt.session].guarded.is_some() {
                let row = self.row(step, attempt, Ended::Abandoned, now, false);
                self.timing.attempt_ended(now);
                self.hold(attempt.session, row);
            } else {
                self.log_attempt(job, step, attempt, Ended::Abandoned, now, true);
            }
        }
        self.abandon_guarded(job, now);
    }
}
