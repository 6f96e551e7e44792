//! The loop of a round: what is due, then what is ready.

use super::finished::{Finished, Generator, RunError};
use super::runner::Runner;
use super::timers::Alarm;
use super::verdict::Ended;
use super::warm_up::WarmUp;
use super::wires::Key;
use super::world::World;
use crate::job::Job;
use crate::units::Nanos;
use patternbench_wire::{Failure, Readiness};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Timers that are handled before sockets are looked at again.
const TIMERS_AT_ONCE: usize = 64;

impl<W: World> Runner<W> {
    pub(super) fn begin(&mut self, job: &Job) {
        self.world.begin();
        if !self.warming.is_open() {
            self.log.measures_from(self.warm_up / 1000);
        }
        for group in 0..job.groups.len() {
            self.begin_users(job, group);
        }
    }

    /// The loop: what is due, then what is ready, until nobody is left.
    pub(super) fn turn(&mut self, job: &Job, stop: &AtomicBool) -> Result<(), RunError> {
        let mut ready: Vec<Readiness> = Vec::new();
        loop {
            let now = self.now();
            self.tick(now);
            self.arrive(job, now);
            self.wake(job, now);
            self.bury(job);
            self.hand_over(job);
            self.interrupted = stop.load(Ordering::Relaxed);
            if self.is_over(job, now) || self.log.has_failed() || self.interrupted {
                return Ok(());
            }
            let alarm = self.next_alarm();
            ready.clear();
            self.world.sleep(alarm, &mut ready)?;
            ready.append(&mut self.unread);
            for event in &ready {
                self.handle(job, *event);
            }
        }
    }

    /// Counts an answer of the warm-up; the last that it needs ends it.
    ///
    /// The end is a tick after the next one, so that observers know it beforehand, and no attempt that has ended
    /// changes its side.
    pub(super) fn warmed(&mut self, job: &Job, took: Nanos) {
        if !self.warming.answered(took) {
            return;
        }
        self.warming = WarmUp::Over;
        let soon = self.next_tick + self.tick;
        if soon >= self.warm_up {
            return;
        }
        self.warm_up = soon;
        self.end = soon.saturating_add(job.duration);
        self.give_up = self.end.saturating_add(job.drain);
        self.log.measures_from(soon / 1000);
        for arriving in &mut self.arriving {
            arriving.end_at(self.end);
        }
    }

    fn is_over(&self, job: &Job, now: Nanos) -> bool {
        let idle = now >= self.end && self.groups.iter().all(|group| group.in_flight == 0);
        let nobody_left = (self.sessions.is_empty() || idle) && self.stillborn.is_empty();
        let nothing_due = self.arriving.iter().all(|arriving| arriving.next.is_none());
        nobody_left && nothing_due || now >= self.give_up || self.is_out_of_sockets(job)
    }

    /// Whether nothing that follows would say anything about the targets.
    fn is_out_of_sockets(&self, job: &Job) -> bool {
        job.ends_without_sockets && self.failures[Failure::Exhausted as usize] > 0
    }

    /// When something is to be done at the latest; at once when there is something already.
    fn next_alarm(&self) -> Nanos {
        if !self.stillborn.is_empty() || !self.unread.is_empty() {
            return 0;
        }
        let arrival = self
            .arriving
            .iter()
            .filter_map(|arriving| arriving.next_at())
            .min();
        let next = [
            arrival,
            self.timers.next(),
            Some(self.next_tick),
            Some(self.give_up),
        ];
        next.into_iter().flatten().min().unwrap_or(0)
    }

    fn tick(&mut self, now: Nanos) {
        if now >= self.next_tick {
            self.next_tick = now - now % self.tick + self.tick;
            if self.warming.is_open() && (now..=now + self.tick).contains(&self.warm_up) {
                self.log.measures_from(self.warm_up / 1000);
            }
            let in_flight = self.groups.iter().map(|group| u64::from(group.in_flight)).sum();
            self.log.tick(now / 1000, in_flight);
        }
    }

    fn wake(&mut self, job: &Job, now: Nanos) {
        for _ in 0..TIMERS_AT_ONCE {
            match self.timers.due(now) {
                None => return,
                Some((at, Alarm::Session { index, epoch })) => self.wake_session(job, index, epoch, at),
                Some((at, Alarm::Policy { index, epoch })) => self.wake_policy(job, index, epoch, at),
                Some((at, Alarm::Wire { index, epoch })) => {
                    self.check_deadline(job, Key { index, epoch }, at, now)
                }
            }
        }
    }

    /// Handles attempts that failed while they were being sent.
    fn bury(&mut self, job: &Job) {
        for (attempt, failure) in std::mem::take(&mut self.stillborn) {
            let now = self.now();
            self.attempt_ended(job, attempt, Ended::Failure(failure), now, None);
        }
    }

    fn check_deadline(&mut self, job: &Job, key: Key, at: Nanos, now: Nanos) {
        let Some(wire) = self.wires.get_mut(key).filter(|wire| wire.alarm == Some(at)) else {
            return;
        };
        wire.alarm = None;
        let Some(attempt) = wire.attempt else { return };
        if attempt.deadline > now {
            wire.alarm = Some(attempt.deadline);
            return self.timers.set(
                attempt.deadline,
                Alarm::Wire {
                    index: key.index,
                    epoch: key.epoch,
                },
            );
        }
        self.wires.close(key);
        self.attempt_ended(job, attempt, Ended::Timeout, now, None);
    }

    /// How long was measured: to the end of the last attempt, or of the time for which calls were to start.
    ///
    /// Where few calls come, the last one ends long before that time does, and rates would be too high. A count of
    /// calls, or arrivals that come to an end, may end the load earlier.
    fn measured(&self, now: Nanos) -> Duration {
        let over = now >= self.end || self.arriving.iter().any(|arriving| arriving.outlasts);
        let end = if over && !self.interrupted { self.end } else { 0 };
        Duration::from_nanos(self.last_end.max(end).saturating_sub(self.warm_up))
    }

    pub(super) fn finish(mut self, job: &Job) -> Result<Finished, RunError> {
        let now = self.now();
        self.abandon(job, now);
        let acted = self
            .policies
            .take()
            .map_or_else(Vec::new, |policies| policies.acted(job));
        let duration = self.measured(now);
        let written = self.log.finish()?;
        Ok(Finished {
            written,
            duration,
            elapsed: Duration::from_nanos(now),
            overrun: Duration::from_nanos(now.saturating_sub(self.give_up)),
            failures: self.failures,
            measured_failures: self.measured_failures,
            generator: Generator::default(),
            connections: self.wires.opened,
            abandoned: self.abandoned,
            journeys: self.journeys,
            warm_up: Duration::from_nanos(self.warm_up),
            warm_up_missing: self.warming.missing(),
            warm_up_unsettled: self.warming.is_settling(),
            refused: self.refused,
            tls_reason: self.tls_reason,
            told: self.trace.map(|trace| trace.into_told()),
            acted,
            interrupted: self.interrupted,
        })
    }
}
