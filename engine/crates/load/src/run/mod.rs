//! One round of load: an event loop in one thread.
//!
//! Sessions (virtual users, or arrivals in flight) are state machines. A session is woken by the clock or by a
//! connection, decides what comes next, and goes back to waiting; nothing blocks, and nothing spins.

mod arrivals;
mod attempts;
mod guarded;
mod placement;
mod redirects;
mod session;
mod spread;
mod timers;
mod trace;
mod verdict;
mod wires;

use crate::job::{Job, Nanos};
use crate::redirect::Refusal;
use arrivals::Arriving;
use guarded::Policies;
use patternbench_attemptlog::{AttemptLog, LogError, Written};
use patternbench_wire::{Failure, Progress, Readiness};
pub use placement::Placement;
use rand_pcg::Pcg64;
use rand_pcg::rand_core::SeedableRng;
use rustix::time::{ClockId, clock_gettime};
use session::{GroupState, Session};
use slab::Slab;
use spread::Spread;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use timers::{Alarm, Timers};
use trace::Trace;
use verdict::Ended;
use wires::{Key, Wires};

/// How often the log's observer is told the time.
const TICK: Nanos = 250_000_000;
/// Timers that are handled before sockets are looked at again.
const TIMERS_AT_ONCE: usize = 64;

/// Why a round could not go on, in a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunError(pub String);

impl From<LogError> for RunError {
    fn from(LogError(message): LogError) -> Self {
        Self(message)
    }
}

impl From<std::io::Error> for RunError {
    fn from(error: std::io::Error) -> Self {
        Self(format!(
            "the operating system refuses to wait for sockets: {error}"
        ))
    }
}

/// What came of a round.
pub struct Finished {
    /// What was logged.
    pub written: Written,
    /// From the end of the warm-up to the end of the last attempt.
    pub duration: Duration,
    /// CPU time of the thread that drove the load.
    pub loop_cpu: Duration,
    /// Wall-clock time of the whole round.
    pub elapsed: Duration,
    /// How long the round went on after its planned end and all waiting for answers.
    pub overrun: Duration,
    /// Failures of connections by kind, in the order of [`Failure::ALL`], warm-up included.
    pub failures: [u64; Failure::ALL.len()],
    /// The same without the warm-up.
    pub measured_failures: [u64; Failure::ALL.len()],
    /// Where and how urgently the thread that drove the load ran.
    pub placement: Placement,
    /// Connections that were opened.
    pub connections: u64,
    /// Attempts that were given up because the time for waiting was over.
    pub abandoned: u64,
    /// Redirects that were not followed, one of each kind with how many there were, warm-up included.
    pub refused: Vec<(Refusal, u64)>,
    /// Why TLS failed for the first time, when it did.
    pub tls_reason: Option<String>,
    /// What is told of the first attempts, where the job asks for that.
    pub told: Option<Vec<serde_json::Value>>,
    /// How often each policy acted, outermost first.
    pub acted: Vec<(&'static str, u64)>,
    /// Whether it was stopped from outside.
    pub interrupted: bool,
    /// When the round began, on the machine's monotonic clock.
    pub began: Duration,
}

/// Runs a job's load to its end, or until `stop` becomes true.
///
/// # Errors
/// When the log can't be written or the operating system refuses to go on. What servers do is never an error here.
pub fn run(mut job: Job, log: AttemptLog, stop: &AtomicBool) -> Result<Finished, RunError> {
    sharpen_timers();
    let placement = placement::take(job.core, job.priority);
    let mut runner = Runner::new(&mut job, log)?;
    let job = &job;
    runner.begin(job);
    runner.turn(job, stop)?;
    runner.finish(job, placement)
}

/// The kernel may wake a thread up to 50 µs late to save power, unless it is asked not to.
fn sharpen_timers() {
    // Without it timers are a little late, and that is measured.
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
}

/// All that a round holds while it runs.
struct Runner {
    started: Instant,
    wires: Wires,
    spread: Spread,
    sessions: Slab<Session>,
    groups: Vec<GroupState>,
    arriving: Vec<Arriving>,
    timers: Timers,
    /// Attempts that failed before they began, to be handled in the next turn rather than in a recursion.
    stillborn: Vec<(wires::Attempt, Failure)>,
    /// Connections that have more to read than they were given time for.
    unread: Vec<Readiness>,
    /// What calls have to go through, when there is anything.
    policies: Option<Box<Policies>>,
    log: AttemptLog,
    next_tick: Nanos,
    /// When no new calls begin any more.
    end: Nanos,
    /// When answers are no longer waited for.
    give_up: Nanos,
    warm_up: Nanos,
    last_end: Nanos,
    failures: [u64; Failure::ALL.len()],
    measured_failures: [u64; Failure::ALL.len()],
    abandoned: u64,
    refused: Vec<(Refusal, u64)>,
    tls_reason: Option<String>,
    /// The attempts that are told one by one, where the job asks for that.
    trace: Option<Box<Trace>>,
    interrupted: bool,
    began: Duration,
    /// What the thread had used before the round began.
    cpu_before: Duration,
    epochs: u32,
    counters: Vec<u64>,
    random: Pcg64,
}

impl Runner {
    fn new(job: &mut Job, log: AttemptLog) -> Result<Self, RunError> {
        let targets = job.targets.iter().map(|(target, _)| target.clone()).collect();
        let end = job.warm_up.saturating_add(job.duration);
        Ok(Self {
            started: Instant::now(),
            wires: Wires::new(targets, job.limits)?,
            spread: Spread::new(job.targets.iter().map(|(_, weight)| *weight)),
            sessions: Slab::new(),
            groups: job
                .groups
                .iter()
                .map(|group| GroupState::new(group, job.trace > 0))
                .collect(),
            arriving: arrivals::all(job),
            timers: Timers::default(),
            stillborn: Vec::new(),
            unread: Vec::new(),
            policies: Policies::new(job),
            log,
            next_tick: TICK,
            end,
            give_up: end.saturating_add(job.drain),
            warm_up: job.warm_up,
            last_end: 0,
            failures: [0; Failure::ALL.len()],
            measured_failures: [0; Failure::ALL.len()],
            abandoned: 0,
            refused: Vec::new(),
            tls_reason: None,
            trace: Trace::new(job.trace),
            interrupted: false,
            began: Duration::ZERO,
            cpu_before: Duration::ZERO,
            epochs: 0,
            counters: vec![0; job.counters],
            random: Pcg64::seed_from_u64(job.seed),
        })
    }

    /// Nanoseconds since the round's start.
    #[inline]
    fn now(&self) -> Nanos {
        self.started.elapsed().as_nanos() as Nanos
    }

    fn begin(&mut self, job: &Job) {
        self.began = clock(ClockId::Monotonic);
        self.started = Instant::now();
        self.cpu_before = clock(ClockId::ThreadCPUTime);
        for group in 0..job.groups.len() {
            self.begin_users(job, group);
        }
    }

    /// The loop: what is due, then what is ready, until nobody is left.
    fn turn(&mut self, job: &Job, stop: &AtomicBool) -> Result<(), RunError> {
        let mut ready: Vec<Readiness> = Vec::new();
        loop {
            let now = self.now();
            self.tick(now);
            self.arrive(job, now);
            self.wake(job, now);
            self.bury(job);
            self.hand_over(job);
            self.interrupted = stop.load(Ordering::Relaxed);
            if self.is_over(now) || self.log.has_failed() || self.interrupted {
                return Ok(());
            }
            let timeout = self.timeout();
            self.wires.wait(timeout, &mut ready)?;
            ready.append(&mut self.unread);
            for event in &ready {
                self.handle(job, *event);
            }
        }
    }

    fn is_over(&self, now: Nanos) -> bool {
        let nobody_left = self.sessions.is_empty() && self.stillborn.is_empty();
        let nothing_due = self.arriving.iter().all(|arriving| arriving.next.is_none());
        nobody_left && nothing_due || now >= self.give_up
    }

    fn timeout(&self) -> Nanos {
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
        let next = next.into_iter().flatten().min().unwrap_or(0);
        next.saturating_sub(self.now())
    }

    fn tick(&mut self, now: Nanos) {
        if now >= self.next_tick {
            self.next_tick = now - now % TICK + TICK;
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

    fn handle(&mut self, job: &Job, event: Readiness) {
        let Some(key) = self.wires.of_event(event) else {
            return;
        };
        let progress = self.wires.progress(key, event);
        let now = self.now();
        match progress {
            Ok(Progress::Waiting) => {}
            Ok(Progress::Begun) => self.begun(key, now),
            Ok(Progress::More) => {
                self.begun(key, now);
                self.unread.push(event);
            }
            Ok(Progress::Done(answer)) => self.answered(job, key, answer, now),
            Ok(Progress::Gone) => self.wires.close(key),
            Err(failure) => self.failed(job, key, failure, now),
        }
    }

    fn begun(&mut self, key: Key, now: Nanos) {
        if let Some(attempt) = self.wires.get_mut(key).and_then(|wire| wire.attempt.as_mut()) {
            attempt.first_byte.get_or_insert(now);
        }
    }

    fn answered(&mut self, job: &Job, key: Key, answer: patternbench_wire::Answer, now: Nanos) {
        let Some(mut attempt) = self.wires.get_mut(key).and_then(|wire| wire.attempt.take()) else {
            return;
        };
        attempt.first_byte.get_or_insert(now);
        self.keep_cookies(job, attempt, key, now);
        let (verdict, refused) = match self.next_hop(job, attempt, key, answer) {
            Some(Ok(hop)) => {
                self.trace_hop(job, attempt, answer, now);
                return self.follow(job, attempt, key, answer, hop);
            }
            Some(Err(refusal)) => {
                let why = refusal.to_string();
                (self.refuse(refusal), Some(why))
            }
            None => (self.examine(job, attempt, key, answer, now), None),
        };
        self.trace_answer(job, attempt, key, (answer, verdict), refused, now);
        self.listen(attempt, key, answer);
        if !answer.keep_alive {
            self.wires.close(key);
        }
        let kept = answer.keep_alive.then_some(key);
        self.attempt_ended(job, attempt, Ended::Answer(answer, verdict), now, kept);
    }

    fn failed(&mut self, job: &Job, key: Key, failure: Failure, now: Nanos) {
        let attempt = self.wires.get_mut(key).and_then(|wire| wire.attempt.take());
        if failure == Failure::Tls && self.tls_reason.is_none() {
            self.tls_reason = self
                .wires
                .get(key)
                .and_then(|wire| wire.reason().map(str::to_owned));
        }
        self.wires.close(key);
        if let Some(attempt) = attempt {
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

    fn finish(mut self, job: &Job, placement: Placement) -> Result<Finished, RunError> {
        let loop_cpu = clock(ClockId::ThreadCPUTime).saturating_sub(self.cpu_before);
        let elapsed = self.started.elapsed();
        let overrun = elapsed.saturating_sub(Duration::from_nanos(self.give_up));
        self.abandon(job, elapsed.as_nanos() as Nanos);
        let acted = self
            .policies
            .take()
            .map_or_else(Vec::new, |policies| policies.acted(job));
        let written = self.log.finish()?;
        Ok(Finished {
            written,
            duration: Duration::from_nanos(self.last_end.saturating_sub(self.warm_up)),
            loop_cpu,
            elapsed,
            overrun,
            failures: self.failures,
            measured_failures: self.measured_failures,
            placement,
            connections: self.wires.opened,
            abandoned: self.abandoned,
            refused: self.refused,
            tls_reason: self.tls_reason,
            told: self.trace.map(|trace| trace.into_told()),
            acted,
            interrupted: self.interrupted,
            began: self.began,
        })
    }
}

fn clock(id: ClockId) -> Duration {
    let time = clock_gettime(id);
    Duration::new(
        time.tv_sec.unsigned_abs(),
        u32::try_from(time.tv_nsec).unwrap_or(0),
    )
}
