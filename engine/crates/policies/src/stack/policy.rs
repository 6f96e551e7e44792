//! The policies that a stack may hold.

use crate::outcome::Failures;
use crate::shared::Scope;
use crate::{breaker, budget, bulkhead, deadline, hedge, rate_limit, retry, timeout};

/// The most attempts that one call may come to.
pub const MOST_ATTEMPTS: u64 = 10_000;

/// One policy of a stack.
#[derive(Debug, Clone, PartialEq)]
pub enum Policy {
    /// See [`timeout`].
    Timeout(timeout::Config),
    /// See [`deadline`].
    Deadline(deadline::Config),
    /// See [`retry`].
    Retry(retry::Config),
    /// See [`budget`].
    RetryBudget(Scope, budget::Config),
    /// See [`breaker`]; results other than the failures that it counts are successes.
    CircuitBreaker(Scope, breaker::Config, Failures),
    /// See [`bulkhead`].
    Bulkhead(Scope, bulkhead::Config),
    /// See [`hedge`].
    Hedge(hedge::Config),
    /// See [`rate_limit`].
    RateLimit(Scope, rate_limit::Config),
}

impl Policy {
    /// Its name in files.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Timeout(_) => "timeout",
            Self::Deadline(_) => "deadline",
            Self::Retry(_) => "retry",
            Self::RetryBudget(..) => "retry_budget",
            Self::CircuitBreaker(..) => "circuit_breaker",
            Self::Bulkhead(..) => "bulkhead",
            Self::Hedge(_) => "hedge",
            Self::RateLimit(..) => "rate_limit",
        }
    }

    /// How often it may send the layers after it.
    fn attempts(&self) -> u64 {
        match self {
            Self::Retry(config) => u64::from(config.max_attempts),
            Self::Hedge(config) => u64::from(config.max_attempts),
            _ => 1,
        }
    }
}

/// How many attempts a call may come to at most.
#[must_use]
pub fn most_attempts(policies: &[Policy]) -> u64 {
    policies.iter().map(Policy::attempts).fold(1, u64::saturating_mul)
}

/// The places of retry budgets with no retry or hedge before them, which would never have anything to refuse.
#[must_use]
pub fn idle_budgets(policies: &[Policy]) -> Vec<usize> {
    let repeats = |policy: &Policy| matches!(policy, Policy::Retry(_) | Policy::Hedge(_));
    let first = policies.iter().position(repeats).unwrap_or(policies.len());
    (0..first)
        .filter(|place| matches!(policies[*place], Policy::RetryBudget(..)))
        .collect()
}
