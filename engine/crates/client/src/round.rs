//! A round as the contract describes it: checked when it is read, valid from then on.

mod request;
mod strategy;
#[cfg(test)]
mod tests;

pub use request::RequestPlan;
pub use strategy::{Scope, Strategy};

use crate::fields::{Fields, Problem, Problems};
use request::{TARGETS, read_request, read_target};
use serde_json::Value;
use strategy::read_strategy;

/// The most users of a round, each a thread, however many connections the system allows.
pub const MOST_USERS: u64 = 2_000;

/// One round.
#[derive(Debug, Clone)]
pub struct Round {
    /// What is asked for.
    pub request: RequestPlan,
    /// How many users ask at the same time.
    pub users: u32,
    /// Between two calls of a user.
    pub think_time_us: u64,
    /// A user ends after so many successful calls.
    pub successes: Option<u64>,
    /// A user begins no call after so many attempts.
    pub max_attempts: Option<u64>,
    /// After a rejected call.
    pub rejected_pause_us: u64,
    /// A user begins no call after this time.
    pub time_limit_us: u64,
    /// Of jitter.
    pub seed: u64,
    /// The pattern that users follow.
    pub strategy: Strategy,
}

/// Reads a round for a client that may open `most_users` connections at the same time.
///
/// # Errors
/// Every problem there is: what breaks the contract and what this client cannot express.
pub fn read(text: &[u8], most_users: u64) -> Result<Round, Vec<Problem>> {
    let problems = Problems::default();
    let round = match serde_json::from_slice(text) {
        Ok(value) => read_round(&value, &problems, most_users),
        Err(error) => {
            problems.note(
                "",
                &Value::Null,
                &format!("is not JSON: {error}"),
                "a round, as contracts/client has it",
            );
            None
        }
    };
    let problems = problems.into_vec();
    round.filter(|_| problems.is_empty()).ok_or(problems)
}

fn read_round(value: &Value, problems: &Problems, most_users: u64) -> Option<Round> {
    let fields = Fields::of("", value, problems)?;
    let contract = fields.get("contract", "1", |value| {
        (value.as_f64() == Some(1.0)).then_some(())
    });
    let target = fields.get("target", TARGETS, read_target);
    let request = fields
        .object("request")
        .and_then(|request| read_request(request, target));
    let users = fields.whole("users", 1, most_users);
    let think_time_us = fields.whole("think_time_us", 0, u64::MAX);
    let successes = fields.whole_or_null("successes", 1, u64::MAX);
    let max_attempts = fields.whole_or_null("max_attempts", 1, u64::MAX);
    let rejected_pause_us = fields.whole("rejected_pause_us", 1, u64::MAX);
    let time_limit_us = fields.whole("time_limit_us", 1, u64::MAX);
    let seed = fields.whole("seed", 0, u64::MAX);
    let strategy = fields.object("strategy").and_then(read_strategy);
    fields.end();
    contract?;
    Some(Round {
        request: request?,
        users: users? as u32,
        think_time_us: think_time_us?,
        successes: successes?,
        max_attempts: max_attempts?,
        rejected_pause_us: rejected_pause_us?,
        time_limit_us: time_limit_us?,
        seed: seed?,
        strategy: strategy?,
    })
}
