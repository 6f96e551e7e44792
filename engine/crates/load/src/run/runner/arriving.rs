//! Lets arrivals begin their journeys when they are due, without waiting for answers.

use super::Runner;
use crate::job::Job;
use crate::run::arrivals::Arrived;
use crate::run::runtime::Runtime;
use crate::run::session::Session;
use crate::units::Nanos;
use patternbench_attemptlog::{Outcome, Row};

/// Arrivals that are handled before sockets are looked at again, so that a burst doesn't keep answers waiting.
const AT_ONCE: usize = 64;

impl<W: Runtime> Runner<W> {
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
        let Arrived {
            group,
            user,
            at,
            place,
            ..
        } = arrived;
        let journey = self.journey_for(job, group, arrived);
        let call = self.first_call(arrived);
        if self.population.group(group).in_flight >= arrived.max_in_flight {
            return self.drop_arrival(job, arrived, journey, call);
        }
        let session = Session {
            call: call.unwrap_or_default(),
            ..Session::arrival(group, user, journey)
        };
        let session = self.population.add(session);
        self.begin_journey(job, session, Some((journey, place.turn)));
        self.begin_call(job, session, at, at);
    }

    /// The number of an arrival's first call, where its place in the whole load says it.
    fn first_call(&self, arrived: Arrived) -> Option<u32> {
        let split = self.population.group(arrived.group).split.as_ref();
        split.map(|split| split.first_call(arrived.place.of_user))
    }

    fn journey_for(&mut self, job: &Job, group: usize, arrived: Arrived) -> usize {
        let begins_with = |name: u16| {
            job.groups[group]
                .journeys
                .iter()
                .position(|journey| journey.steps[0].name == name)
        };
        arrived
            .step
            .and_then(begins_with)
            .unwrap_or_else(|| self.population.group_mut(group).next_journey(arrived.place.free))
    }

    fn drop_arrival(&mut self, job: &Job, arrived: Arrived, journey: usize, call: Option<u32>) {
        let Arrived {
            group, user, at: due, ..
        } = arrived;
        let call = call.unwrap_or_else(|| self.population.group_mut(group).next_call(user));
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
