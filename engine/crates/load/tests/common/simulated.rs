//! A runtime without sockets, in which time jumps from one event to the next.

use patternbench_attemptlog::{AttemptLog, Observer, Row, Settings};
use patternbench_load::job::Job;
use patternbench_load::{Exchange, Finished, Nanos, Runtime, run_in};
use patternbench_wire::{AnswerParser, Expected, Failure, Limits, Progress, Readiness, Target};
use serde_json::Value;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

pub const URL: &str = "http://127.0.0.1:1";
pub const MS: Nanos = 1_000_000;
const HOUR: Nanos = 3_600_000 * MS;

/// How long the answer to a request takes, and its status; no answer at all for none.
pub type Service = fn(u64) -> Option<(Nanos, u16)>;

/// A runtime in which only time passes.
struct Simulated {
    now: Nanos,
    service: Service,
    requests: u64,
    seen: Seen,
    /// When which answer is due, in the order of times and then of requests.
    due: BinaryHeap<Reverse<(Nanos, u64, u64)>>,
    statuses: HashMap<u64, u16>,
    /// When what is read next over a connection came, by the key of the connection.
    came: HashMap<u64, Nanos>,
    /// Whether it tells that, however late it is read.
    remembers: bool,
    /// When the clock by which it tells that is set forward by an hour.
    set_at: Nanos,
    slept: Slept,
}

/// The requests that were sent: their target and their path, in their order.
pub type Seen = Arc<Mutex<Vec<(String, String)>>>;

/// How often the runtime was asked to sleep.
pub type Slept = Arc<AtomicU64>;

struct Link {
    key: u64,
    target: String,
    parser: AnswerParser,
    /// The request whose answer is awaited.
    request: u64,
    came: Nanos,
}

impl Exchange for Link {
    fn parser(&self) -> &AnswerParser {
        &self.parser
    }

    fn reason(&self) -> Option<&str> {
        None
    }
}

impl Simulated {
    fn new(service: Service, seen: Seen, slept: Slept) -> Self {
        Self {
            seen,
            now: 0,
            service,
            requests: 0,
            due: BinaryHeap::new(),
            statuses: HashMap::new(),
            came: HashMap::new(),
            remembers: false,
            set_at: Nanos::MAX,
            slept,
        }
    }

    /// The next answer that comes until a moment, and when.
    fn answer_by(&mut self, moment: Nanos) -> Option<(Nanos, Readiness)> {
        let next = self.due.peek().filter(|Reverse((at, ..))| *at <= moment);
        let Reverse((at, _, key)) = *next?;
        self.due.pop();
        self.came.insert(key, at);
        let readiness = Readiness {
            key,
            readable: true,
            writable: false,
            hangup: false,
        };
        Some((at, readiness))
    }
}

impl Runtime for Simulated {
    type Connection = Link;

    fn begin(&mut self) {
        self.now = 0;
    }

    fn now(&self) -> Nanos {
        self.now
    }

    fn today(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_nanos(self.now)
    }

    fn connect(&mut self, target: &Target, key: u64) -> Result<Link, Failure> {
        Ok(Link {
            key,
            target: target.host.clone(),
            parser: AnswerParser::new(Limits::default()),
            request: 0,
            came: 0,
        })
    }

    fn send(&mut self, link: &mut Link, request: &[u8], expected: Expected) -> Result<(), Failure> {
        let line = String::from_utf8_lossy(request);
        let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
        self.seen.lock().unwrap().push((link.target.clone(), path));
        link.parser.begin(expected);
        link.request = self.requests;
        if let Some((lasting, status)) = (self.service)(self.requests) {
            self.due
                .push(Reverse((self.now + lasting, self.requests, link.key)));
            self.statuses.insert(self.requests, status);
        }
        self.requests += 1;
        Ok(())
    }

    fn receive(&mut self, link: &mut Link, _: Readiness) -> Result<Progress, Failure> {
        link.came = self.came[&link.key];
        let answer = format!(
            "HTTP/1.1 {} X\r\nContent-Length: 0\r\n\r\n",
            self.statuses[&link.request]
        );
        Ok(link
            .parser
            .feed(answer.as_bytes())?
            .map_or(Progress::Waiting, Progress::Done))
    }

    fn came(&self, link: &Link) -> Option<Nanos> {
        let set_between = (link.came..self.now).contains(&self.set_at);
        let by_clock = link.came.saturating_sub(if set_between { HOUR } else { 0 });
        self.remembers.then_some(by_clock)
    }

    fn sleep(&mut self, alarm: Nanos, ready: &mut Vec<Readiness>) -> std::io::Result<()> {
        self.slept.fetch_add(1, Ordering::Relaxed);
        let answer = self.answer_by(alarm);
        self.now = self.now.max(answer.map_or(alarm, |(at, _)| at));
        ready.extend(answer.map(|(_, readiness)| readiness));
        Ok(())
    }

    fn rest(&mut self, alarm: Nanos, ready: &mut Vec<Readiness>) -> std::io::Result<()> {
        self.slept.fetch_add(1, Ordering::Relaxed);
        ready.extend(std::iter::from_fn(|| self.answer_by(alarm)).map(|(_, readiness)| readiness));
        self.now = self.now.max(alarm);
        Ok(())
    }
}

#[derive(Clone, Default)]
struct Rows(Arc<Mutex<Vec<Row>>>);

impl Observer for Rows {
    fn rows(&mut self, rows: &[Row]) {
        self.0.lock().unwrap().extend_from_slice(rows);
    }

    fn tick(&mut self, _: u64, _: u64) {}
}

/// Runs a job in simulated time.
pub fn simulate(job: &Value, service: Service) -> (Vec<Row>, Finished) {
    simulate_seen(job, service, Seen::default())
}

/// The same, with all requests in `seen`.
pub fn simulate_seen(job: &Value, service: Service, seen: Seen) -> (Vec<Row>, Finished) {
    simulate_in(Simulated::new(service, seen, Slept::default()), job)
}

/// The rows of a job, and how often the generator slept, in a runtime that may remember when answers came.
pub fn simulate_sleeps(job: &Value, service: Service, remembers: bool) -> (Vec<Row>, u64) {
    let slept = Slept::default();
    let runtime = Simulated {
        remembers,
        ..Simulated::new(service, Seen::default(), slept.clone())
    };
    let (rows, _) = simulate_in(runtime, job);
    (rows, slept.load(Ordering::Relaxed))
}

/// The rows of a job in a runtime that remembers when answers came by a clock that is set forward at a moment.
pub fn simulate_set_clock(job: &Value, service: Service, set_at: Nanos) -> Vec<Row> {
    let runtime = Simulated {
        remembers: true,
        set_at,
        ..Simulated::new(service, Seen::default(), Slept::default())
    };
    simulate_in(runtime, job).0
}

fn simulate_in(runtime: Simulated, job: &Value) -> (Vec<Row>, Finished) {
    let job = Job::parse(&job.to_string(), Path::new("/nowhere")).unwrap_or_else(|wrong| panic!("{wrong:?}"));
    let rows = Rows::default();
    let settings = Settings {
        file: None,
        groups: job.groups.iter().map(|group| group.name.clone()).collect(),
        steps: job.step_names.clone(),
        journeys: false,
        observer: Some(Box::new(rows.clone())),
    };
    let log = AttemptLog::start(settings).unwrap();
    let finished = run_in(runtime, job, log, &AtomicBool::new(false)).unwrap();
    let rows = rows.0.lock().unwrap().clone();
    (rows, finished)
}
