//! Lets arrivals begin their journeys when they are due, without waiting for answers.

use super::arrivals::Due;
use super::runner::Runner;
use super::session::Session;
use super::world::World;
use crate::job::Job;
use crate::units::Nanos;
use patternbench_attemptlog::{Outcome, Row};

/// Arrivals that are handled before sockets are looked at again, so that a burst doesn't keep answers waiting.
const AT_ONCE: usize = 64;

impl<W: World> Runner<W> {
    /// Lets everything arrive that is due.
    pub(super) fn arrive(&mut self, job: &Job, now: Nanos) {
        for index in 0..self.arriving.len() {
            for _ in 0..AT_ONCE {
                let Some(due) = self.arriving[index].next.filter(|due| due.at <= now) else {
                    break;
                };
                let end = self.end;
                self.arriving[index].advance(end);
                self.arrive_one(job, index, due);
            }
        }
    }

    fn arrive_one(&mut self, job: &Job, index: usize, due: Due) {
        let arriving = &mut self.arriving[index];
        let user = arriving.user(due);
        let (group, room) = (arriving.group, arriving.max_in_flight);
        let journey = self.journey_for(job, group, due.step);
        if self.groups[group].in_flight >= room {
            return self.drop_arrival(job, group, journey, due.at, user);
        }
        let session = self.add_session(Session::arrival(group, user, journey));
        self.begin_journey(job, session, Some(journey));
        self.begin_call(job, session, due.at, due.at);
    }

    fn journey_for(&mut self, job: &Job, group: usize, step: Option<u16>) -> usize {
        let begins_with = |name: u16| {
            job.groups[group]
                .journeys
                .iter()
                .position(|journey| journey.steps[0].name == name)
        };
        step.and_then(begins_with)
            .unwrap_or_else(|| self.groups[group].journeys.next())
    }

    fn drop_arrival(&mut self, job: &Job, group: usize, journey: usize, due: Nanos, user: u32) {
        let call = self.groups[group].next_call(user);
        let moment = (due / 1000) as i64;
        self.begun_journeys = self.begun_journeys.wrapping_add(1);
        let step = &job.groups[group].journeys[journey].steps[0];
        self.log.push(Row {
            user,
            group: group as u16,
            step: step.name,
            call,
            attempt: 0,
            status: 0,
            outcome: Outcome::Dropped,
            success: false,
            warm_up: due < self.warm_up,
            intended_us: moment,
            start_us: moment,
            first_byte_us: -1,
            end_us: moment,
            bytes: Row::NO_BYTES,
            lateness_us: 0,
            call_response_us: 0,
            call_success: false,
            redirects: 0,
            journey: self.begun_journeys,
            ends_journey: job.log_journeys,
            items: step.items.as_ref().map_or(0, |items| items.carried),
            failed_items: 0,
        });
    }
}
