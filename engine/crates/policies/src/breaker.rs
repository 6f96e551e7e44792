//! Whether a call may go out, judged by how the last ones went.
//!
//! A breaker is *closed* (calls go out, results are counted), *open* (calls are rejected for a while) or *half-open* (a
//! few calls probe). `contracts/client/README.md` states the semantics; `vectors/breaker.json` there works them out.
//!
//! A result counts only in the state that let its call through: one that arrives after a change of state is about a
//! time that has been judged already, and is dropped. [`Ticket`] carries that.

use std::collections::VecDeque;

/// The configuration of a [`Breaker`]. Rates are percent, times microseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Config {
    /// It opens when the share of failures reaches this; above 0, at most 100.
    pub failure_rate: f64,
    /// It opens, too, when the share of slow calls reaches this.
    pub slow_call: Option<SlowCall>,
    /// Which results are looked at while it is closed.
    pub window: Window,
    /// No verdict with fewer results than this in the window; at most the calls of a count window.
    pub minimum_calls: u32,
    /// How long it rejects before it probes.
    pub open_for_us: u64,
    /// How many calls probe.
    pub half_open_calls: u32,
}

/// When a call counts as slow, and how many of those are too many.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SlowCall {
    /// Percent; above 0, at most 100.
    pub rate: f64,
    /// A call is slow when it took longer than this.
    pub duration_us: u64,
}

/// The results that a closed breaker looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Window {
    /// This many of the last results.
    Calls(u32),
    /// Those that ended within this many microseconds.
    TimeUs(u64),
}

/// What a breaker says to a call that wants to go out.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub enum Admission {
    /// Go, and bring the ticket back with the result.
    Admitted(Ticket),
    /// The call must not go out.
    Rejected,
}

/// Ties a result to the state that let its call through.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub struct Ticket {
    epoch: u64,
}

/// The state that a breaker is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Calls go out.
    Closed,
    /// Calls are rejected.
    Open,
    /// A few calls probe, further ones are rejected.
    HalfOpen,
}

/// A circuit breaker whose caller passes the time.
#[derive(Debug)]
pub struct Breaker {
    config: Config,
    phase: Phase,
    /// Counts the changes of state, to tell a stale result by its ticket.
    epoch: u64,
}

#[derive(Debug)]
enum Phase {
    Closed(Results),
    Open { since_us: u64 },
    HalfOpen { admitted: u32, tally: Tally },
}

impl Breaker {
    /// A closed breaker with an empty window.
    pub fn new(config: Config) -> Self {
        Self {
            config,
            phase: Phase::Closed(Results::default()),
            epoch: 0,
        }
    }

    /// Decides on a call that wants to go out at `now_us`.
    ///
    /// An open breaker changes to half-open here, with the first call after its time, and not on its own.
    pub fn admit(&mut self, now_us: u64) -> Admission {
        if self.may_probe(now_us) {
            self.change(Phase::HalfOpen {
                admitted: 0,
                tally: Tally::default(),
            });
        }
        match &mut self.phase {
            Phase::Closed(_) => {}
            Phase::HalfOpen { admitted, .. } if *admitted < self.config.half_open_calls => *admitted += 1,
            Phase::HalfOpen { .. } | Phase::Open { .. } => return Admission::Rejected,
        }
        Admission::Admitted(Ticket { epoch: self.epoch })
    }

    /// Takes the result of an admitted call that ended at `now_us` after `duration_us`.
    pub fn record(&mut self, ticket: Ticket, now_us: u64, duration_us: u64, success: bool) {
        if ticket.epoch != self.epoch {
            return;
        }
        let result = CallResult {
            failed: !success,
            slow: self.is_slow(duration_us),
        };
        match &mut self.phase {
            Phase::Closed(results) => {
                results.push(now_us, result, self.config.window);
                let tally = results.tally;
                self.judge_closed(tally, now_us);
            }
            Phase::HalfOpen { tally, .. } => {
                tally.add(result);
                let tally = *tally;
                self.judge_half_open(tally, now_us);
            }
            // A ticket is never issued while open, and the epoch has moved on since the one before.
            Phase::Open { .. } => {}
        }
    }

    /// Takes back the ticket of a call that has no result: nothing was sent, or no one wanted the answer any more. A
    /// place among the probes becomes free again.
    pub fn forget(&mut self, ticket: Ticket) {
        if ticket.epoch != self.epoch {
            return;
        }
        if let Phase::HalfOpen { admitted, .. } = &mut self.phase {
            *admitted = admitted.saturating_sub(1);
        }
    }

    /// The state as of the last decision.
    pub fn state(&self) -> State {
        match self.phase {
            Phase::Closed(_) => State::Closed,
            Phase::Open { .. } => State::Open,
            Phase::HalfOpen { .. } => State::HalfOpen,
        }
    }

    fn may_probe(&self, now_us: u64) -> bool {
        match self.phase {
            Phase::Open { since_us } => now_us.saturating_sub(since_us) >= self.config.open_for_us,
            _ => false,
        }
    }

    fn is_slow(&self, duration_us: u64) -> bool {
        self.config
            .slow_call
            .is_some_and(|slow| duration_us > slow.duration_us)
    }

    fn judge_closed(&mut self, tally: Tally, now_us: u64) {
        if tally.total >= u64::from(self.config.minimum_calls) && self.is_too_bad(tally) {
            self.change(Phase::Open { since_us: now_us });
        }
    }

    fn judge_half_open(&mut self, tally: Tally, now_us: u64) {
        if tally.total < u64::from(self.config.half_open_calls) {
            return;
        }
        let next = if self.is_too_bad(tally) {
            Phase::Open { since_us: now_us }
        } else {
            Phase::Closed(Results::default())
        };
        self.change(next);
    }

    fn is_too_bad(&self, tally: Tally) -> bool {
        reaches(tally.failed, tally.total, self.config.failure_rate)
            || self
                .config
                .slow_call
                .is_some_and(|slow| reaches(tally.slow, tally.total, slow.rate))
    }

    fn change(&mut self, phase: Phase) {
        self.phase = phase;
        self.epoch += 1;
    }
}

/// Whether `part` of `total` is at least `percent`, without a division that would round.
fn reaches(part: u64, total: u64, percent: f64) -> bool {
    total > 0 && part as f64 * 100.0 >= percent * total as f64
}

#[derive(Debug, Clone, Copy)]
struct CallResult {
    failed: bool,
    slow: bool,
}

#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    total: u64,
    failed: u64,
    slow: u64,
}

impl Tally {
    fn add(&mut self, result: CallResult) {
        self.total += 1;
        self.failed += u64::from(result.failed);
        self.slow += u64::from(result.slow);
    }

    fn remove(&mut self, result: CallResult) {
        self.total -= 1;
        self.failed -= u64::from(result.failed);
        self.slow -= u64::from(result.slow);
    }
}

/// The results in the window, with their sums kept up to date.
#[derive(Debug, Default)]
struct Results {
    ended: VecDeque<(u64, CallResult)>,
    tally: Tally,
}

impl Results {
    fn push(&mut self, now_us: u64, result: CallResult, window: Window) {
        self.ended.push_back((now_us, result));
        self.tally.add(result);
        while self
            .ended
            .front()
            .is_some_and(|&(ended_us, _)| self.is_outside(ended_us, now_us, window))
        {
            let (_, old) = self.ended.pop_front().expect("the front was just looked at");
            self.tally.remove(old);
        }
    }

    fn is_outside(&self, ended_us: u64, now_us: u64, window: Window) -> bool {
        match window {
            Window::Calls(calls) => self.ended.len() > calls as usize,
            Window::TimeUs(time) => now_us.saturating_sub(ended_us) >= time,
        }
    }
}
