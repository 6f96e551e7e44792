//! One virtual user: calls one after another until it has enough.

use crate::alarm::Alarm;
use crate::clock::Clock;
use crate::connection::Connection;
use crate::rows::{Row, Rows};
use crate::{Answer, Guard, Guarded, Outcome, Round};
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

/// A user; it belongs to one task, but what a policy guards has a hold of it, too.
pub(crate) struct User {
    number: usize,
    round: Rc<Round>,
    connection: Connection,
    alarm: Alarm,
    rows: Rc<Rows>,
    clock: Clock,
    calls: Cell<u64>,
    successes: Cell<u64>,
    attempts: Cell<u64>,
    attempts_of_call: Cell<u64>,
}

impl User {
    /// Belongs into a runtime.
    ///
    /// # Errors
    /// One sentence, when the system has no timer for it.
    pub(crate) fn new(
        number: usize,
        round: Rc<Round>,
        connection: Connection,
        rows: Rc<Rows>,
        clock: Clock,
    ) -> Result<Self, String> {
        let zero = || Cell::new(0);
        Ok(Self {
            number,
            round,
            connection,
            alarm: Alarm::new()?,
            rows,
            clock,
            calls: zero(),
            successes: zero(),
            attempts: zero(),
            attempts_of_call: zero(),
        })
    }

    /// Calls until there is enough, pausing in between; `guards` stand around each attempt, the first outermost.
    pub(crate) async fn run(self: Rc<Self>, guards: Vec<Rc<dyn Guard>>) {
        let guarded = guards.into_iter().rev().fold(Self::attempts(&self), around);
        while !self.has_enough() {
            if self.call(&guarded).await {
                self.pause(self.round.rejected_pause_us).await;
            }
            if !self.has_enough() {
                self.pause(self.round.think_time_us).await;
            }
        }
    }

    fn attempts(user: &Rc<Self>) -> Guarded {
        let user = Rc::clone(user);
        Rc::new(move || -> Answer { Box::pin(Rc::clone(&user).attempt()) })
    }

    /// One call; whether it ended without an attempt.
    async fn call(&self, guarded: &Guarded) -> bool {
        self.attempts_of_call.set(0);
        let outcome = guarded().await;
        add(&self.successes, u64::from(outcome.is_success()));
        let rejected = self.attempts_of_call.get() == 0;
        if rejected {
            self.note(0, self.clock.elapsed_us(), 0, Outcome::Rejected);
        }
        add(&self.calls, 1);
        rejected
    }

    async fn attempt(self: Rc<Self>) -> Outcome {
        add(&self.attempts, 1);
        add(&self.attempts_of_call, 1);
        let mut under_way = UnderWay {
            start_us: self.clock.elapsed_us(),
            user: &self,
            outcome: Outcome::Timeout,
        };
        under_way.outcome = self.connection.send().await;
        under_way.outcome
    }

    fn note(&self, attempt: u64, start_us: u64, duration_us: u64, outcome: Outcome) {
        let (user, call) = (self.number, self.calls.get());
        self.rows.add(Row {
            user,
            call,
            attempt,
            start_us,
            duration_us,
            outcome,
        });
    }

    fn has_enough(&self) -> bool {
        reached(self.successes.get(), self.round.successes)
            || reached(self.attempts.get(), self.round.max_attempts)
            || self.clock.elapsed_us() >= self.round.time_limit_us
    }

    /// Waits, though not beyond the round's end.
    async fn pause(&self, pause_us: u64) {
        let left_us = self.round.time_limit_us.saturating_sub(self.clock.elapsed_us());
        self.alarm
            .wait(Duration::from_micros(pause_us.min(left_us)))
            .await;
    }
}

/// An attempt until it has ended. When a policy drops it before, the policy has ended it: a `timeout`.
struct UnderWay<'a> {
    user: &'a User,
    start_us: u64,
    outcome: Outcome,
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        let duration_us = self.user.clock.elapsed_us() - self.start_us;
        let attempt = self.user.attempts_of_call.get();
        self.user.note(attempt, self.start_us, duration_us, self.outcome);
    }
}

fn around(guarded: Guarded, guard: Rc<dyn Guard>) -> Guarded {
    Rc::new(move || guard.call(Rc::clone(&guarded)))
}

fn add(count: &Cell<u64>, more: u64) {
    count.set(count.get() + more);
}

fn reached(count: u64, limit: Option<u64>) -> bool {
    limit.is_some_and(|limit| count >= limit)
}
