//! A rare event that is watched for in a simulated round, and where the round goes on with other random numbers.
//!
//! Splitting continues one state in several ways. A state follows from the seed with which its round began, and from
//! those with which it went on at each level: whoever follows them again comes to the same state. So a state is a list
//! of seeds. It is whole by itself (users, policies, schedules and services), takes no memory, and any thread can
//! continue it. What that costs is to follow the way there again, at most the length of a round.

use crate::Nanos;
use crate::cluster::Cluster;
use crate::model::{Model, ModelError};
use serde::Deserialize;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The form of an event in JSON.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Written {
    /// This many requests wait for a worker of a service, at all its replicas together.
    Waiting { at: Option<String>, reaches: u64 },
    /// This many requests are at a service, those that are worked on included.
    InFlight { at: Option<String>, reaches: u64 },
    /// No call of the load succeeds for this long.
    NoSuccess { for_us: u64 },
}

/// What is watched; services by their numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Watched {
    /// How many requests wait at a service.
    Waiting(usize),
    /// How many requests are at a service.
    InFlight(usize),
    /// How long ago a call of the load succeeded, in nanoseconds.
    NoSuccess,
}

/// An event: what is watched, and what it has to reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RareEvent {
    /// What is watched.
    pub what: Watched,
    /// What it has to reach.
    pub threshold: u64,
}

impl RareEvent {
    /// Reads an event, whose service must be one of the model's.
    ///
    /// # Errors
    /// When the text describes no event of the model.
    pub fn parse(text: &str, model: &Model) -> Result<Self, ModelError> {
        let written: Written = serde_json::from_str(text).map_err(|error| problem(&error.to_string()))?;
        let place = |at: Option<String>| match at {
            None => Ok(model.entry),
            Some(name) => model
                .number(&name)
                .ok_or_else(|| problem(&format!("there is no service `{name}`"))),
        };
        let (what, threshold) = match written {
            Written::Waiting { at, reaches } => (Watched::Waiting(place(at)?), reaches),
            Written::InFlight { at, reaches } => (Watched::InFlight(place(at)?), reaches),
            Written::NoSuccess { for_us } => (Watched::NoSuccess, for_us.saturating_mul(1_000)),
        };
        if threshold == 0 {
            return Err(problem("is reached from the start; allowed: 1 or more"));
        }
        Ok(Self { what, threshold })
    }
}

fn problem(message: &str) -> ModelError {
    ModelError {
        path: "event".to_owned(),
        message: message.to_owned(),
    }
}

/// What a round has shown of an event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Seen {
    /// The most that was reached.
    pub highest: u64,
    /// When each level was reached first.
    pub crossed: Vec<Nanos>,
}

/// The part of a round in which an event counts, in nanoseconds from its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// The end of the warm-up.
    pub from: Nanos,
    /// When no calls begin any more.
    pub to: Nanos,
}

/// What one look at a round comes to.
pub struct Looked {
    /// The seed from which the round goes on.
    pub seed: Option<u64>,
    /// Whether no more of the round is needed.
    pub over: bool,
}

/// Watches a round: it ends when the level after the last seed is reached, or when the event no longer counts.
pub struct Watch {
    what: Watched,
    levels: Arc<[u64]>,
    seeds: Vec<u64>,
    span: Span,
    begun: bool,
    /// The latest success, or the begin of the span.
    since: Nanos,
    /// The seed from which the load is still to go on.
    fresh: Option<u64>,
    stop: Arc<AtomicBool>,
    seen: Rc<RefCell<Seen>>,
}

impl Watch {
    /// Watches for rising levels. The first seed is that with which the round began, each other one that with which it
    /// goes on from a level.
    pub fn new(what: Watched, levels: Arc<[u64]>, seeds: &[u64], span: Span) -> Self {
        Self {
            what,
            levels,
            seeds: seeds.to_vec(),
            span,
            begun: false,
            since: 0,
            fresh: None,
            stop: Arc::default(),
            seen: Rc::default(),
        }
    }

    /// Becomes true when the round may end.
    pub fn stop(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stop)
    }

    /// What the round has shown, also once the watch has been handed over.
    pub fn seen(&self) -> Rc<RefCell<Seen>> {
        Rc::clone(&self.seen)
    }

    /// The seed from which the load is to go on, once.
    pub fn take_fresh(&mut self) -> Option<u64> {
        self.fresh.take()
    }

    /// When it has to look at the latest, though nothing happens until then.
    pub fn due(&self) -> Nanos {
        if !self.begun {
            return self.span.from;
        }
        let next = self.levels.get(self.reached());
        match (self.what, next) {
            (Watched::NoSuccess, Some(level)) => self.since.saturating_add(*level),
            _ => Nanos::MAX,
        }
    }

    /// A call of the load has succeeded.
    pub fn succeeded(&mut self, now: Nanos) {
        if self.what == Watched::NoSuccess && self.begun {
            self.note(now.min(self.span.to).saturating_sub(self.since));
        }
        self.since = now;
    }

    /// Looks at the services at a moment. Nothing happens from there until another one.
    pub fn look(&mut self, now: Nanos, until: Nanos, services: &[Cluster]) -> Looked {
        let counts = self.span.from <= now && now <= self.span.to;
        let seed = if counts { self.see(now, services) } else { None };
        self.fresh = seed.or(self.fresh);
        let is_done = self.reached() == self.seeds.len();
        let over = is_done || now > self.span.to || until.min(self.due()) > self.span.to;
        if over {
            self.note_the_rest(until);
            self.stop.store(true, Ordering::Relaxed);
        }
        Looked { seed, over }
    }

    /// Takes note of what is reached, and returns the seed of the highest level that is.
    fn see(&mut self, now: Nanos, services: &[Cluster]) -> Option<u64> {
        if !std::mem::replace(&mut self.begun, true) {
            self.since = self.since.max(self.span.from);
        }
        let value = match self.what {
            Watched::Waiting(service) => services[service].waiting() as u64,
            Watched::InFlight(service) => services[service].inside() as u64,
            Watched::NoSuccess => now.saturating_sub(self.since),
        };
        self.cross(value, now)
    }

    /// Takes note of a value, and of each level that it comes to first; returns the seed of the highest.
    fn cross(&self, value: u64, now: Nanos) -> Option<u64> {
        let mut seen = self.seen.borrow_mut();
        seen.highest = seen.highest.max(value);
        let mut seed = None;
        let passed = |reached: usize| self.levels.get(reached).is_some_and(|level| *level <= value);
        while seen.crossed.len() < self.seeds.len() && passed(seen.crossed.len()) {
            seen.crossed.push(now);
            seed = self.seeds.get(seen.crossed.len()).copied();
        }
        seed
    }

    /// Takes note of the silence in which a round ends.
    fn note_the_rest(&self, until: Nanos) {
        if self.what == Watched::NoSuccess && self.begun && until > self.span.to {
            self.note(self.span.to.saturating_sub(self.since));
        }
    }

    fn reached(&self) -> usize {
        self.seen.borrow().crossed.len()
    }

    fn note(&self, value: u64) {
        let mut seen = self.seen.borrow_mut();
        seen.highest = seen.highest.max(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODEL: &str = r#"{"model": 1, "entry": "shop", "services": {
        "shop": {"workers": 2, "times": {"fixed_us": 10}, "calls": [[{"to": "store"}]]},
        "store": {"workers": 1, "times": {"fixed_us": 5}}}}"#;

    fn watch(seeds: &[u64]) -> Watch {
        let span = Span { from: 100, to: 1_000 };
        Watch::new(Watched::NoSuccess, Arc::from([50, 200, 300]), seeds, span)
    }

    fn parsed(text: &str) -> Result<RareEvent, String> {
        RareEvent::parse(text, &Model::parse(MODEL).expect("a model")).map_err(|wrong| wrong.to_string())
    }

    #[test]
    fn events_are_read_with_the_service_where_load_comes_in_by_default() {
        let event = |what, threshold| Ok(RareEvent { what, threshold });
        assert_eq!(
            parsed(r#"{"waiting": {"reaches": 9}}"#),
            event(Watched::Waiting(0), 9)
        );
        assert_eq!(
            parsed(r#"{"in_flight": {"at": "store", "reaches": 9}}"#),
            event(Watched::InFlight(1), 9)
        );
        assert_eq!(
            parsed(r#"{"no_success": {"for_us": 5}}"#),
            event(Watched::NoSuccess, 5_000)
        );
    }

    #[test]
    fn events_that_are_none_of_the_model_are_refused() {
        let wrong = |text: &str| parsed(text).expect_err("it is wrong");
        let elsewhere = r#"{"waiting": {"at": "stroe", "reaches": 9}}"#;
        assert_eq!(wrong(elsewhere), "event: there is no service `stroe`");
        assert!(wrong(r#"{"waiting": {"reaches": 0}}"#).contains("reached from the start"));
        assert!(wrong(r#"{"waiting": {"reaches": -1}}"#).starts_with("event: "));
        assert!(wrong(r#"{"queue": {"reaches": 1}}"#).contains("queue"));
    }

    #[test]
    fn silence_counts_from_the_end_of_the_warm_up_and_begins_anew_with_each_success() {
        let mut watch = watch(&[1, 2]);
        assert_eq!(watch.due(), 100, "the warm-up ends");
        assert!(watch.look(100, 120, &[]).seed.is_none());
        assert_eq!(watch.due(), 150);
        watch.succeeded(120);
        assert_eq!(watch.due(), 170);
        assert_eq!(
            watch.look(170, 500, &[]).seed,
            Some(2),
            "the first level is reached"
        );
        assert_eq!(watch.take_fresh(), Some(2));
        assert_eq!(watch.take_fresh(), None);
        assert!(!watch.stop().load(Ordering::Relaxed));
        assert_eq!(watch.due(), 320);
        assert!(
            watch.look(320, 500, &[]).over,
            "there is no seed to go on from the second one"
        );
        assert!(watch.stop().load(Ordering::Relaxed));
        let seen = watch.seen();
        assert_eq!(seen.borrow().crossed, [170, 320]);
        assert_eq!(seen.borrow().highest, 200);
    }

    #[test]
    fn a_round_is_over_when_nothing_can_be_reached_any_more() {
        let mut watch = watch(&[1]);
        watch.look(100, 110, &[]);
        watch.succeeded(980);
        assert!(
            watch.look(980, 1_200, &[]).over,
            "the next level would come after its end"
        );
        assert_eq!(watch.seen().borrow().highest, 880);
    }
}
