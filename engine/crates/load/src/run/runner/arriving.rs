//! Lets arrivals begin their journeys when they are due, without waiting for answers.

use super::Runner;
use crate::job::Job;
use crate::run::arrivals::Arrived;
use crate::run::session::Session;
use crate::run::world::World;
use crate::units::Nanos;
use patternbench_attemptlog::{Outcome, Row};

/// Arrivals that are handled before sockets are looked at again, so that a burst doesn't keep answers waiting.
const AT_ONCE: usize = 64;

impl<W: World> Runner<W> {
    /// Lets everything arrive that is due.
    pub(super) fn arrive(&mut self, job: &Job, now: Nanos) {
        for index in 0..self.schedules.len() {
            for _ in 0..AT_ONCE {
                let Some(arrived) = self.schedules.take_due(index, now, self.timing.end()) else {
                    break;
                };
                self.arrive_one(job, arrived);
            }
        }
    }

    fn arrive_one(&mut self, job: &Job, arrived: Arrived) {
        let Arrived { group, user, at, .. } = arrived;
        let journey = self.journey_for(job, group, arrived.step);
        if self.population.group(group).in_flight >= arrived.max_in_flight {
            return self.drop_arrival(job, group, journey, at, user);
        }
        let session = self.population.add(Session::arrival(group, user, journey));
        self.begin_journey(job, session, Some(journey));
        self.begin_call(job, session, at, at);
    }

    fn journey_for(&mut self, job: &Job, group: usize, step: Option<u16>) -> usize {
        let begins_with = |name: u16| {
            job.groups[group]
                .journeys
                .iter()
                .position(|journey| journey.steps[0].name == name)
        };
        step.and_then(begins_with)
            .unwrap_or_else(|| self.population.group_mut(group).journeys.next())
    }

    fn drop_arrival(&mut self, job: &Job, group: usize, journey: usize, due: Nanos, user: u32) {
        let call = self.population.group_mut(group).next_call(user);
        let moment = (due / 1000) as i64;
        let number = self.population.number_journey();
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
            warm_up: !self.timing.is_measured(due),
            intended_us: moment,
            start_us: moment,
            first_byte_us: -1,
            end_us: moment,
            bytes: Row::NO_BYTES,
            lateness_us: 0,
            call_response_us: 0,
            call_success: false,
            redirects: 0,
            journey: number,
            ends_journey: job.log_journeys,
            items: step.items.as_ref().map_or(0, |items| items.carried),
            failed_items: 0,
        });
    }
}
