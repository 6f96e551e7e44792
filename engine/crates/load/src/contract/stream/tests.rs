//! How rounds end that cannot continue, or that no one listens to.

use super::super::read;
use super::*;
use crate::job::Job;
use crate::run::{Exchange, Runtime, run_in};
use crate::units::Nanos;
use patternbench_wire::{AnswerParser, Expected, Progress, Readiness, Target};
use serde_json::{Value, json};
use std::sync::atomic::AtomicUsize;
use std::time::SystemTime;

/// A round of an hour against a port where no one listens.
fn round() -> Round {
    let round = json!({
        "contract": 1, "target": "http://127.0.0.1:1",
        "request": {"method": "GET", "path": "/", "headers": {}, "body": null, "timeout_us": 1_000_000},
        "users": 2, "think_time_us": 1000, "successes": null, "max_attempts": null, "rejected_pause_us": 1,
        "time_limit_us": 3_600_000_000u64, "seed": 0, "strategy": {"baseline": {}},
    });
    read(round.to_string().as_bytes(), 10).ok().unwrap()
}

/// An audience that does not read, and leaves after `patience` lines.
#[derive(Clone)]
struct Deaf {
    waiting: usize,
    patience: usize,
    lines: Arc<AtomicUsize>,
}

impl Deaf {
    fn new(waiting: usize, patience: usize) -> Self {
        Self {
            waiting,
            patience,
            lines: Arc::default(),
        }
    }
}

impl Audience for Deaf {
    fn send(&self, _: String, _: usize) {
        self.lines.fetch_add(1, Ordering::Relaxed);
    }

    fn waiting(&self) -> usize {
        self.waiting
    }

    fn has_left(&self) -> bool {
        self.lines.load(Ordering::Relaxed) >= self.patience
    }
}

fn said(line: &str) -> Value {
    serde_json::from_str(line).unwrap()
}

#[test]
fn a_round_whose_rows_are_not_read_ends_with_an_error() {
    let last = run(round(), &Deaf::new(MOST_WAITING + 1, usize::MAX));
    assert_eq!(said(&last), json!({"error": UNREAD}));
}

#[test]
fn a_round_whose_audience_has_left_ends_long_before_its_time() {
    let audience = Deaf::new(0, 1);
    // It would continue for an hour.
    run(round(), &audience);
    assert!(audience.lines.load(Ordering::Relaxed) >= 1);
}

/// A runtime in which nothing can be connected: the machine has no socket left.
struct Crowded(Nanos);

struct Nothing(AnswerParser);

impl Exchange for Nothing {
    fn parser(&self) -> &AnswerParser {
        &self.0
    }

    fn reason(&self) -> Option<&str> {
        None
    }
}

impl Runtime for Crowded {
    type Connection = Nothing;

    fn begin(&mut self) {}

    fn now(&self) -> Nanos {
        self.0
    }

    fn today(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH
    }

    fn connect(&mut self, _: &Target, _: u64) -> Result<Nothing, Failure> {
        Err(Failure::Exhausted)
    }

    fn send(&mut self, _: &mut Nothing, _: &[u8], _: Expected) -> Result<(), Failure> {
        Err(Failure::Closed)
    }

    fn receive(&mut self, _: &mut Nothing, _: Readiness) -> Result<Progress, Failure> {
        Err(Failure::Closed)
    }

    fn sleep(&mut self, alarm: Nanos, _: &mut Vec<Readiness>) -> std::io::Result<()> {
        self.0 = self.0.max(alarm);
        Ok(())
    }
}

fn crowded(job: Job) -> Finished {
    let settings = Settings {
        file: None,
        groups: vec!["all".to_owned()],
        steps: vec!["request".to_owned()],
        journeys: false,
        observer: None,
    };
    let log = AttemptLog::start(settings).unwrap();
    run_in(Crowded(0), job, log, &AtomicBool::new(false)).unwrap()
}

#[test]
fn a_round_on_a_machine_without_sockets_is_over_at_once_and_says_so() {
    let finished = crowded(round().into_job().unwrap());
    assert_eq!(finished.elapsed, Duration::ZERO);
    assert_eq!(
        last_line(&finished, Duration::ZERO),
        Err(OUT_OF_SOCKETS.to_owned())
    );
}

#[test]
fn a_job_goes_on_without_sockets_and_is_doubted_for_it() {
    let mut job = round().into_job().unwrap();
    job.ends_without_sockets = false;
    job.duration = 10_000_000_000;
    let finished = crowded(job);
    assert_eq!(finished.elapsed, Duration::from_secs(10));
    assert!(finished.written.rows > 10_000);
}
