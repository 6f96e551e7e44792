//! A virtual user: one call after another until it has what it came for.

use crate::connection::{Connection, OwnFault};
use crate::round::{RequestPlan, Round, Strategy};
use crate::rows::{Outcome, Row};
use crate::running::Stage;
use patternbench_policies::backoff::{Backoff, Jitter};
use patternbench_policies::breaker::{Admission, Breaker};
use rand_pcg::Pcg64Mcg;
use std::sync::{Arc, Mutex, PoisonError};

/// A breaker, of one user or of all.
pub type SharedBreaker = Arc<Mutex<Breaker>>;

/// A virtual user with all that it needs.
pub struct User {
    /// Its number, from 0.
    pub number: u32,
    /// What it is to do.
    pub round: Arc<Round>,
    /// Its connection.
    pub connection: Connection,
    /// The breaker that judges its calls, under that strategy.
    pub breaker: Option<SharedBreaker>,
    /// What chance does to its delays.
    pub rng: Pcg64Mcg,
    /// Where it acts, and who notes down what happens.
    pub stage: Arc<Stage>,
    /// What it has done.
    pub progress: Progress,
}

/// What a user has done so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// Calls that have ended.
    pub calls: u64,
    /// Those of them that were successful.
    pub successes: u64,
    /// Attempts on the wire.
    pub attempts: u64,
}

impl Progress {
    /// Whether another call is due, `elapsed_us` after the start of the round.
    pub fn wants_more(&self, round: &Round, elapsed_us: u64) -> bool {
        round.successes.is_none_or(|wanted| self.successes < wanted)
            && round.max_attempts.is_none_or(|most| self.attempts < most)
            && elapsed_us < round.time_limit_us
    }
}

/// Bytes of answers are read and thrown away.
type Scratch = [u8; 8 * 1024];

impl User {
    /// Makes calls until the round is over for this user, or is abandoned.
    ///
    /// # Errors
    /// When the client has run out of something.
    pub fn live(mut self) -> Result<(), OwnFault> {
        let mut scratch = [0; size_of::<Scratch>()];
        while self.wants_more() {
            let last = self.call(&mut scratch)?;
            self.progress.calls += 1;
            self.progress.successes += u64::from(last.is_success());
            if last == Outcome::Rejected {
                self.pause_between_calls_us(self.round.rejected_pause_us);
            }
            if self.wants_more() {
                self.pause_between_calls_us(self.round.think_time_us);
            }
        }
        Ok(())
    }

    fn wants_more(&self) -> bool {
        !self.stage.is_abandoned() && self.progress.wants_more(&self.round, self.stage.elapsed_us())
    }

    /// No call begins after the time limit, so there is nothing to wait for then.
    fn pause_between_calls_us(&self, pause_us: u64) {
        let left_us = self.round.time_limit_us.saturating_sub(self.stage.elapsed_us());
        self.stage.pause_us(pause_us.min(left_us));
    }

    /// One call by the strategy; how its last attempt ended.
    fn call(&mut self, scratch: &mut Scratch) -> Result<Outcome, OwnFault> {
        match self.round.strategy {
            Strategy::Baseline => self.attempt(1, scratch).map(|done| done.outcome),
            Strategy::Retry {
                max_attempts,
                backoff,
                jitter,
            } => self.retry(max_attempts, backoff, jitter, scratch),
            Strategy::CircuitBreaker { .. } => self.call_through_breaker(scratch),
        }
    }

    fn retry(
        &mut self,
        max_attempts: u64,
        backoff: Backoff,
        jitter: Jitter,
        scratch: &mut Scratch,
    ) -> Result<Outcome, OwnFault> {
        let mut number = 1;
        loop {
            let last = self.attempt(number, scratch)?.outcome;
            if last.is_success() || number >= max_attempts || self.stage.is_abandoned() {
                return Ok(last);
            }
            let delay_us = backoff.delay_us(number as u32);
            self.stage.pause_us(jitter.apply_us(delay_us, &mut self.rng));
            number += 1;
        }
    }

    fn call_through_breaker(&mut self, scratch: &mut Scratch) -> Result<Outcome, OwnFault> {
        let breaker = self
            .breaker
            .clone()
            .expect("a user of this strategy has a breaker");
        let asked_us = self.stage.elapsed_us();
        let admission = breaker
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .admit(asked_us);
        let Admission::Admitted(ticket) = admission else {
            self.note(0, asked_us, 0, Outcome::Rejected);
            return Ok(Outcome::Rejected);
        };
        let done = self.attempt(1, scratch)?;
        let mut breaker = breaker.lock().unwrap_or_else(PoisonError::into_inner);
        breaker.record(
            ticket,
            done.start_us + done.duration_us,
            done.duration_us,
            done.outcome.is_success(),
        );
        Ok(done.outcome)
    }

    fn attempt(&mut self, number: u64, scratch: &mut Scratch) -> Result<Row, OwnFault> {
        let start_us = self.stage.elapsed_us();
        let plan: &RequestPlan = &self.round.request;
        let outcome = self.connection.attempt(plan, scratch)?;
        self.progress.attempts += 1;
        Ok(self.note(number, start_us, self.stage.elapsed_us() - start_us, outcome))
    }

    fn note(&self, attempt: u64, start_us: u64, duration_us: u64, outcome: Outcome) -> Row {
        let row = Row {
            user: self.number,
            call: self.progress.calls,
            attempt,
            start_us,
            duration_us,
            outcome,
        };
        self.stage.note(row);
        row
    }
}
