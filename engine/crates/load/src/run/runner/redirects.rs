//! Attempts that are sent on: each stays one attempt, from its first send to its final answer.

use super::Runner;
use crate::jar::{Asked, Jar, Moment};
use crate::job::{Filled, Job};
use crate::redirect::{Refusal, location, redirected};
use crate::run::runtime::Runtime;
use crate::run::session::{group_of, journey_of, step_of};
use crate::run::wires::{Attempt, Key, Trip};
use crate::units::Nanos;
use patternbench_wire::{Answer, Failure, Target, hostname};

/// Where a request goes next, and to which target.
type Hop = (Trip, usize);

fn asked<'a>(request: &'a Filled, target: &Target, host: &'a str) -> Asked<'a> {
    Asked {
        host,
        path: &request.path,
        encrypted: target.is_encrypted(),
    }
}

impl<W: Runtime> Runner<W> {
    /// Sends a request that was filled in, with the cookies that belong to it.
    pub(super) fn send_trip(
        &mut self,
        job: &Job,
        key: Key,
        trip: Trip,
        jar: Option<&Jar>,
        attempt: Attempt,
    ) -> Result<(), Failure> {
        let target = &job.targets[self.links.get(key).ok_or(Failure::Closed)?.target].0;
        if let Some(trace) = &mut self.trace {
            trace.sends(attempt.session, target, &trip.request);
        }
        let host = hostname(trip.request.authority(target));
        let cookie = jar.and_then(|jar| jar.header(asked(&trip.request, target, &host), self.now()));
        let bytes = trip.request.render(target, cookie);
        let expected = trip.expected;
        let trip = Some(Box::new(trip));
        self.links.send(key, (&bytes, expected), attempt, trip)
    }

    /// Keeps the cookies of an answer, final or not.
    pub(super) fn keep_cookies(&mut self, job: &Job, attempt: Attempt, key: Key, now: Nanos) {
        let Some((wire, trip)) = self
            .links
            .get(key)
            .and_then(|wire| Some((wire, wire.trip.as_ref()?)))
        else {
            return;
        };
        let target = &job.targets[wire.target].0;
        let host = hostname(trip.request.authority(target));
        let session = &mut self.population[attempt.session];
        let keeps = journey_of(job, session).cookies;
        if let Some(memory) = session.memory.as_mut().filter(|_| keeps) {
            let today = self.links.today();
            let moment = Moment { now, today };
            let asked = asked(&trip.request, target, &host);
            memory.jar.keep(wire.parser().head(), asked, moment);
        }
    }

    /// Where an answer sends its request on to; `None` when it is the final one.
    pub(super) fn next_hop(
        &self,
        job: &Job,
        attempt: Attempt,
        key: Key,
        answer: Answer,
    ) -> Option<Result<Hop, Refusal>> {
        let wire = self.links.get(key)?;
        let trip = wire.trip.as_deref()?;
        let most = step_of(job, &self.population[attempt.session]).max_redirects;
        let location = location(answer.status, wire.parser().head()).filter(|_| most > 0)?;
        if attempt.hops >= most {
            return Some(Err(Refusal::TooMany));
        }
        let next = redirected(&trip.request, wire.target, answer.status, &location, &job.targets);
        let expected = trip.expected;
        Some(next.map(|(request, target)| (Trip { request, expected }, target)))
    }

    /// Sends an attempt on: it keeps its number, its start and its deadline.
    pub(super) fn follow(
        &mut self,
        job: &Job,
        mut attempt: Attempt,
        key: Key,
        answer: Answer,
        (trip, target): Hop,
    ) {
        attempt.hops += 1;
        attempt.first_byte = None;
        self.forget_wire(attempt);
        let new = group_of(job, &self.population[attempt.session]).new_connections;
        let sent = self
            .wire_onward(key, answer.keep_alive, target, new)
            .and_then(|key| {
                self.hold_wire(attempt, key);
                let memory = self.population[attempt.session].memory.take();
                let cookies = journey_of(job, &self.population[attempt.session]).cookies;
                let jar = memory.as_ref().map(|memory| &memory.jar).filter(|_| cookies);
                let sent = self.send_trip(job, key, trip, jar, attempt);
                self.population[attempt.session].memory = memory;
                self.sent(key, attempt, sent)
            });
        if let Err(failure) = sent {
            self.links.fail(attempt, failure);
        }
    }

    /// The same connection when it goes to the right target and can be kept, or another.
    fn wire_onward(&mut self, key: Key, keep_alive: bool, target: usize, new: bool) -> Result<Key, Failure> {
        let same = self.links.get(key).is_some_and(|wire| wire.target == target);
        match (keep_alive, same) {
            (true, true) => return Ok(key),
            (true, false) => self.links.release(key),
            (false, _) => self.links.close(key),
        }
        self.links.take(target, new)
    }
}
