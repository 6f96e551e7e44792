//! The loop of a round: what is due, then what is ready.

use super::Runner;
use crate::job::Job;
use crate::run::finished::{Finished, Generator, RunError};
use crate::run::runtime::Runtime;
use crate::run::timers::Alarm;
use crate::run::verdict::Ended;
use crate::run::wires::Key;
use crate::units::Nanos;
use patternbench_wire::{Failure, Readiness};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Timers that are handled before sockets are looked at again.
const TIMERS_AT_ONCE: usize = 64;

impl<W: Runtime> Runner<W> {
    pub fn start_clock(&mut self) {
        self.links.begin();
    }

    pub fn begin(&mut self, job: &Job) {
        if !self.timing.is_warm_up_open() {
            self.log.measures_from(self.timing.warm_up() / 1000);
        }
        for group in 0..job.groups.len() {
            self.begin_users(job, group);
        }
    }

    /// The loop: what is due, then what is ready, until no one is left.
    pub fn turn(&mut self, job: &Job, stop: &AtomicBool) -> Result<(), RunError> {
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
            ready.clear();
            self.pause(now, &mut ready)?;
            if let Some(seed) = self.links.reseeded() {
                self.reseed(seed);
            }
            for event in &ready {
                self.handle(job, *event);
            }
        }
    }

    /// Sleeps until something is to be done, and learns what is ready.
    fn pause(&mut self, now: Nanos, ready: &mut Vec<Readiness>) -> std::io::Result<()> {
        let alarm = self.next_alarm();
        if self.patience.lasts(now, alarm) {
            self.links.rest(alarm, ready)
        } else {
            self.links.sleep(alarm, ready)
        }
    }

    /// Draws all that is drawn from now on from another seed.
    fn reseed(&mut self, seed: u64) {
        let now = self.now();
        self.schedules.reseed(seed, now, self.timing.end());
        self.draws.reseed(seed);
        if let Some(policies) = &mut self.policies {
            policies.reseed(seed);
        }
    }

    /// Counts an answer of the warm-up; the last that it needs ends it.
    pub(super) fn warmed(&mut self, job: &Job, took: Nanos) {
        if self.timing.warmed(job, took) {
            self.log.measures_from(self.timing.warm_up() / 1000);
            self.schedules.end_at(self.timing.end());
        }
    }

    fn is_over(&self, job: &Job, now: Nanos) -> bool {
        let idle = now >= self.timing.end() && self.population.is_idle();
        let nobody_left = (self.population.is_empty() || idle) && !self.links.has_failed();
        let lasts = self.links.lasts() && self.schedules.may_return() && now < self.timing.end();
        nobody_left && self.schedules.is_over() && !lasts
            || now >= self.timing.give_up()
            || self.is_out_of_sockets(job)
    }

    /// Whether nothing that follows would say anything about the targets.
    fn is_out_of_sockets(&self, job: &Job) -> bool {
        job.ends_without_sockets && self.totals.failed(Failure::Exhausted) > 0
    }

    /// When something is to be done at the latest; at once when there is something already.
    fn next_alarm(&self) -> Nanos {
        if self.links.is_pressing() {
            return 0;
        }
        let next = [
            self.schedules.next_at(),
            self.timers.next(),
            Some(self.timing.next_tick()),
            Some(self.timing.give_up()),
        ];
        next.into_iter().flatten().min().unwrap_or(0)
    }

    fn tick(&mut self, now: Nanos) {
        if self.timing.ticks(now) {
            if self.timing.is_warm_up_running_out(now) {
                self.log.measures_from(self.timing.warm_up() / 1000);
            }
            if self.links.is_watched() {
                self.log.tick(now / 1000, self.population.in_flight());
            }
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
        for (attempt, failure) in self.links.take_failed() {
            let now = self.now();
            self.attempt_ended(job, attempt, Ended::Failure(failure), now, None);
        }
    }

    fn check_deadline(&mut self, job: &Job, key: Key, at: Nanos, now: Nanos) {
        let Some(wire) = self.links.get_mut(key).filter(|wire| wire.alarm == Some(at)) else {
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
        self.links.close(key);
        self.attempt_ended(job, attempt, Ended::Timeout, now, None);
    }

    /// How long was measured: to the end of the last attempt, or of the time for which calls were to start.
    ///
    /// Where few calls come, the last one ends long before that time does, and rates would be too high. A count of
    /// calls, or arrivals that come to an end, may end the load earlier.
    fn measured(&self, now: Nanos) -> Duration {
        let over = now >= self.timing.end() || self.schedules.outlast();
        self.timing.measured(over && !self.interrupted)
    }

    pub fn finish(mut self, job: &Job) -> Result<Finished, RunError> {
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
            overrun: Duration::from_nanos(now.saturating_sub(self.timing.give_up())),
            totals: self.totals,
            generator: Generator::default(),
            connections: self.links.opened(),
            warm_up: Duration::from_nanos(self.timing.warm_up()),
            warm_up_missing: self.timing.missing(),
            warm_up_unsettled: self.timing.is_settling(),
            told: self.trace.map(|trace| trace.into_told()),
            acted,
            interrupted: self.interrupted,
        })
    }
}
