//! One round, as the contract describes it; times in microseconds.
//!
//! patternbench sends valid rounds. What does not fit these types belongs to another version of the contract.

use crate::Outcome;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// The version of the contract.
pub(crate) const CONTRACT: u64 = 1;

/// What each of the virtual users does, and for how long.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Round {
    /// The version of the contract.
    pub contract: u64,
    /// Scheme, host and port; the request's path is appended.
    pub target: String,
    /// The request of every attempt.
    pub request: Request,
    /// How many virtual users there are.
    pub users: usize,
    /// The pause between two calls of a user.
    pub think_time_us: u64,
    /// Successful calls after which a user stops; none for no such limit.
    pub successes: Option<u64>,
    /// Attempts after which a user begins no further call; none for no such limit.
    pub max_attempts: Option<u64>,
    /// The pause after a rejected call.
    pub rejected_pause_us: u64,
    /// When the round ends, from its start.
    pub time_limit_us: u64,
    /// Of whatever is drawn.
    pub seed: u64,
    /// What a user does around an attempt.
    pub strategy: Strategy,
}

/// The request of every attempt.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The HTTP method.
    pub method: String,
    /// The path, with its query.
    pub path: String,
    /// Headers by their names.
    pub headers: BTreeMap<String, String>,
    /// The body, if there is one.
    pub body: Option<String>,
    /// How long an attempt may take.
    pub timeout_us: u64,
}

/// What a user does around an attempt.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Strategy {
    /// No pattern: a call is one attempt.
    Baseline {},
    /// A retry alone.
    Retry(Retry),
    /// A circuit breaker alone.
    CircuitBreaker(CircuitBreaker),
    /// Policies around each other, the outermost first.
    Stack(Vec<Policy>),
}

impl Strategy {
    /// The strategy's name in the contract.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Baseline {} => "baseline",
            Self::Retry(_) => "retry",
            Self::CircuitBreaker(_) => "circuit_breaker",
            Self::Stack(_) => "stack",
        }
    }

    /// The policies around an attempt, the outermost first.
    #[must_use]
    pub fn policies(&self) -> Vec<Policy> {
        match self {
            Self::Baseline {} => Vec::new(),
            Self::Retry(retry) => vec![Policy::Retry(retry.clone())],
            Self::CircuitBreaker(breaker) => vec![Policy::CircuitBreaker(breaker.clone())],
            Self::Stack(policies) => policies.clone(),
        }
    }
}

/// One policy, alone or in a stack.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)] // each is named as in the contract
pub enum Policy {
    Timeout(After),
    Deadline(After),
    Retry(Retry),
    RetryBudget(RetryBudget),
    CircuitBreaker(CircuitBreaker),
    Bulkhead(Bulkhead),
    Hedge(Hedge),
    RateLimit(RateLimit),
}

impl Policy {
    /// The policy's name in the contract.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Timeout(_) => "timeout",
            Self::Deadline(_) => "deadline",
            Self::Retry(_) => "retry",
            Self::RetryBudget(_) => "retry_budget",
            Self::CircuitBreaker(_) => "circuit_breaker",
            Self::Bulkhead(_) => "bulkhead",
            Self::Hedge(_) => "hedge",
            Self::RateLimit(_) => "rate_limit",
        }
    }

    /// Whether all users share it; else each has its own.
    pub(crate) fn is_shared(&self) -> bool {
        let scope = match self {
            Self::RetryBudget(RetryBudget { scope, .. })
            | Self::CircuitBreaker(CircuitBreaker { scope, .. })
            | Self::Bulkhead(Bulkhead { scope, .. })
            | Self::RateLimit(RateLimit { scope, .. }) => *scope,
            Self::Timeout(_) | Self::Deadline(_) | Self::Retry(_) | Self::Hedge(_) => Scope::Client,
        };
        scope == Scope::Client
    }
}

/// Whose a policy is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// Each user has its own.
    User,
    /// All users of the round share one.
    Client,
}

/// Ends something `after_us` after its beginning.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct After {
    /// How long after.
    pub after_us: u64,
}

/// Tries again after a failure.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Retry {
    /// Attempts of one call, the first included.
    pub max_attempts: u32,
    /// The delay before each further attempt.
    pub backoff: Backoff,
    /// How a delay is spread.
    pub jitter: Jitter,
    /// The failures that are tried again; none for all.
    #[serde(default)]
    pub on: Option<Vec<Failure>>,
    /// The longest `Retry-After` that is waited for.
    #[serde(default)]
    pub retry_after_max_us: u64,
}

impl Retry {
    /// Whether an attempt with this outcome is tried again. A rejection never is.
    #[must_use]
    pub fn is_retried(&self, outcome: Outcome) -> bool {
        let named = |on: &Vec<Failure>| on.iter().any(|failure| failure.is(outcome));
        outcome != Outcome::Rejected && !outcome.is_success() && self.on.as_ref().is_none_or(named)
    }
}

/// A failure that a retry names: a status, a range of them as `500-599`, or a name.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Failure {
    /// A status.
    Status(u16),
    /// A range, or a name.
    Text(String),
}

impl Failure {
    fn is(&self, outcome: Outcome) -> bool {
        match (self, outcome) {
            (Self::Status(meant), Outcome::Answered(status)) => *meant == status,
            (Self::Text(text), Outcome::Answered(status)) => in_range(text, status),
            (Self::Text(text), other) => other.name() == Some(text.as_str()),
            (Self::Status(_), _) => false,
        }
    }
}

fn in_range(text: &str, status: u16) -> bool {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (Ok(first), Ok(last)) = (first.parse::<u16>(), last.parse::<u16>()) else {
        return false;
    };
    (first..=last).contains(&status)
}

/// How the delay grows from attempt to attempt.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[allow(missing_docs)] // the fields are those of the contract
pub enum Backoff {
    /// Always the same delay.
    Fixed { delay_us: u64 },
    /// The same increment every time.
    Linear {
        initial_us: u64,
        increment_us: u64,
        max_us: Option<u64>,
    },
    /// The same factor every time.
    Exponential {
        initial_us: u64,
        multiplier: f64,
        max_us: Option<u64>,
    },
}

impl Backoff {
    /// The delay after this many failed attempts (at least 1), before jitter.
    #[must_use]
    pub fn delay(&self, failed_attempts: u32) -> Duration {
        let steps = failed_attempts.saturating_sub(1);
        let (grown_us, max_us) = match *self {
            Self::Fixed { delay_us } => (delay_us as f64, None),
            Self::Linear {
                initial_us,
                increment_us,
                max_us,
            } => (initial_us as f64 + f64::from(steps) * increment_us as f64, max_us),
            // Zero times infinity is not a number; no delay stays none.
            Self::Exponential {
                initial_us: 0,
                max_us,
                ..
            } => (0.0, max_us),
            Self::Exponential {
                initial_us,
                multiplier,
                max_us,
            } => (initial_us as f64 * multiplier.powf(f64::from(steps)), max_us),
        };
        let capped_us = max_us.map_or(grown_us, |max_us| grown_us.min(max_us as f64));
        Duration::try_from_secs_f64(capped_us / 1e6).unwrap_or(Duration::MAX)
    }
}

/// How a delay is spread.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Jitter {
    /// Uniform within a share of it, to either side.
    Share(f64),
    /// A spread that has a name.
    Named(Spread),
}

impl Jitter {
    /// The delay as it is.
    pub const NONE: Self = Self::Named(Spread::None);
}

/// As the contract writes it.
impl fmt::Display for Jitter {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Share(share) => share.fmt(formatter),
            Self::Named(Spread::None) => formatter.write_str("none"),
            Self::Named(Spread::Full) => formatter.write_str("full"),
            Self::Named(Spread::Equal) => formatter.write_str("equal"),
        }
    }
}

/// A spread that has a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Spread {
    /// The delay as it is.
    None,
    /// Uniform from 0 to it.
    Full,
    /// Half of it, plus uniform from 0 to the other half.
    Equal,
}

/// Lets further attempts through while there are tokens.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)] // the fields are those of the contract
pub struct RetryBudget {
    pub ratio: f64,
    pub min_per_s: u64,
    pub capacity: u64,
    pub scope: Scope,
}

/// Rejects calls after failures; rates in percent.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)] // the fields are those of the contract
pub struct CircuitBreaker {
    pub failure_rate: f64,
    pub slow_call: Option<SlowCall>,
    pub window: Window,
    pub minimum_calls: u64,
    pub open_for_us: u64,
    pub half_open_calls: u64,
    pub scope: Scope,
}

/// When a call counts as slow, and the share of such calls that opens the breaker.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)] // the fields are those of the contract
pub struct SlowCall {
    pub rate: f64,
    pub duration_us: u64,
}

/// The results that a closed breaker looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Window {
    /// The last calls.
    Calls(u64),
    /// Those of the last time.
    TimeUs(u64),
}

/// Lets at most `max_concurrent` calls in at once.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bulkhead {
    /// How many may be inside.
    pub max_concurrent: usize,
    /// How many may wait.
    pub max_waiting: usize,
    /// How long each may wait; none for as long as it takes.
    #[serde(default)]
    pub max_wait_us: Option<u64>,
    /// Whose it is.
    pub scope: Scope,
}

/// Sends another attempt when none has ended well for a while.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)] // the fields are those of the contract
pub struct Hedge {
    pub delay_us: u64,
    pub max_attempts: u32,
}

/// Lets `calls` out per `per_us`, `burst` at once.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)] // the fields are those of the contract
pub struct RateLimit {
    pub calls: u64,
    pub per_us: u64,
    pub burst: u64,
    pub max_wait_us: u64,
    pub scope: Scope,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{policy, vectors};
    use serde_json::{Value, json};

    fn retry(backoff: &Value, on: &Value) -> Retry {
        let retry = json!({"max_attempts": 6, "backoff": backoff, "jitter": "none", "on": on, "retry_after_max_us": 0});
        match policy(json!({"stack": [{"retry": retry}]})) {
            Policy::Retry(retry) => retry,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn delays_are_those_of_the_shared_vectors() {
        for case in vectors("backoff") {
            let backoff = retry(&case["backoff"], &Value::Null).backoff;
            for (failed, due_us) in (1..).zip(case["delays_us"].as_array().unwrap()) {
                let early_us = due_us.as_f64().unwrap() - backoff.delay(failed).as_secs_f64() * 1e6;
                assert!(early_us.abs() < 0.001, "{} {failed}: {early_us}", case["name"]);
            }
        }
    }

    #[test]
    fn a_retry_tries_again_what_it_names_and_never_a_rejection() {
        let fixed = json!({"fixed": {"delay_us": 0}});
        let chosen = retry(&fixed, &json!(["500-599", 429, "timeout", "404"]));
        for retried in [
            Outcome::Answered(503),
            Outcome::Answered(429),
            Outcome::Answered(404),
            Outcome::Timeout,
        ] {
            assert!(chosen.is_retried(retried), "{retried:?}");
        }
        for ended in [
            Outcome::Answered(403),
            Outcome::ConnectionError,
            Outcome::Rejected,
        ] {
            assert!(!chosen.is_retried(ended), "{ended:?}");
        }
        let all = retry(&fixed, &Value::Null);
        assert!(all.is_retried(Outcome::ConnectionError) && !all.is_retried(Outcome::Rejected));
        assert!(!all.is_retried(Outcome::Answered(302)));
    }

    #[test]
    fn a_spread_is_a_name_or_a_share() {
        let spread = |jitter: Value| serde_json::from_value::<Jitter>(jitter);
        assert_eq!(spread(json!("equal")).unwrap(), Jitter::Named(Spread::Equal));
        assert_eq!(spread(json!(0.5)).unwrap(), Jitter::Share(0.5));
        assert_eq!(
            (Jitter::Share(0.5).to_string(), Jitter::NONE.to_string()),
            ("0.5".to_owned(), "none".to_owned())
        );
        assert!(spread(json!("later")).is_err());
    }
}
