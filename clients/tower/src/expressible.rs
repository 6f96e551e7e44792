//! What of a policy tower cannot do exactly.

use crate::delays::{FACTOR, spread};
use patternbench_client_kit::{Backoff, Bulkhead, Entry, Jitter, Policy, Problems, RateLimit, Retry, Spread};

/// From a second on, tower cuts what it adds to a delay to whole seconds.
const LONGEST_SPREAD_US: f64 = 1e6;
/// tower counts what it adds in 32 bits of nanoseconds, which hold this many times the longest delay.
const MOST_ADDED: f64 = 4.0;
const POLICIES: &str = "timeout, retry, bulkhead, rate_limit";

pub(crate) fn refuse(entry: &Entry<'_>, problems: &mut Problems) {
    match entry.policy {
        Policy::Retry(one) => retry(one, problems),
        Policy::Timeout(_) => {}
        Policy::Bulkhead(one) => bulkhead(one, entry.users, problems),
        Policy::RateLimit(one) => rate_limit(one, problems),
        Policy::Hedge(_) => hedge(problems),
        Policy::RetryBudget(_) => budget(problems),
        Policy::Deadline(_) | Policy::CircuitBreaker(_) => problems.lacking(POLICIES),
    }
}

fn retry(retry: &Retry, problems: &mut Problems) {
    problems.retry_after(retry);
    if retry.jitter != Jitter::NONE && !is_spread(retry) {
        let why = "tower spreads delays that double, without a longest one and below a second: equal, or by a share";
        problems.refuse(
            "jitter",
            retry.jitter.to_string(),
            why,
            "none; or equal or a share up to 0.6 of such delays",
        );
    }
}

/// Whether tower's own back-off spreads the delays as the contract means.
fn is_spread(retry: &Retry) -> bool {
    let Backoff::Exponential {
        initial_us: 1..,
        multiplier: FACTOR,
        max_us: None,
    } = retry.backoff
    else {
        return false;
    };
    let longest_us = retry
        .backoff
        .delay(retry.max_attempts.saturating_sub(1).max(1))
        .as_secs_f64()
        * 1e6;
    let (least, added) = spread(retry.jitter);
    retry.jitter != Jitter::Named(Spread::Full)
        && least > 0.0
        && added < MOST_ADDED
        && longest_us < LONGEST_SPREAD_US
}

fn bulkhead(bulkhead: &Bulkhead, users: usize, problems: &mut Problems) {
    problems.bounded_waiting(bulkhead, users);
    if let (Some(longest_us), 1..) = (bulkhead.max_wait_us, bulkhead.max_waiting) {
        let why = "tower does not bound how long a call waits";
        problems.refuse("max_wait_us", longest_us, why, "nothing, or max_waiting 0");
    }
}

fn rate_limit(limit: &RateLimit, problems: &mut Problems) {
    if limit.burst > 1 {
        let why = "tower lets the calls of an interval out at once, and begins the next one with a call";
        problems.refuse("burst", limit.burst, why, "1");
    }
    if limit.max_wait_us > 0 {
        let why = "tower does not bound how long a call waits";
        problems.refuse("max_wait_us", limit.max_wait_us, why, "0");
    }
    if !limit.per_us.saturating_mul(1000).is_multiple_of(limit.calls) {
        let why = "tower counts the time between two calls in whole nanoseconds";
        problems.refuse("per_us", limit.per_us, why, "a multiple of calls");
    }
}

fn hedge(problems: &mut Problems) {
    let why = "tower hedges after a percentile of the latencies that it has seen, not after a delay";
    problems.refuse("", (), why, POLICIES);
}

fn budget(problems: &mut Problems) {
    let why = "tower's budget forgets what was brought after a while, where the contract's has a capacity";
    problems.refuse("", (), why, POLICIES);
}

#[cfg(test)]
mod tests {
    use crate::TowerAdapter;
    use patternbench_client_kit::testing::refused;
    use serde_json::{Value, json};

    fn retry(backoff: Value, jitter: Value, max_attempts: u32) -> Vec<String> {
        let retry = json!({"max_attempts": max_attempts, "backoff": backoff, "jitter": jitter});
        refused(json!({"retry": retry}), &TowerAdapter)
    }

    fn doubling(initial_us: u64, max_us: Value) -> Value {
        json!({"exponential": {"initial_us": initial_us, "multiplier": 2, "max_us": max_us}})
    }

    fn stack(policies: Value) -> Vec<String> {
        refused(json!({"stack": policies}), &TowerAdapter)
    }

    #[test]
    fn spreads_that_the_librarys_back_off_does_not_have_are_refused_by_name() {
        let jitter = ["strategy.retry.jitter"];
        for spread in [json!("equal"), json!(0.5)] {
            assert_eq!(
                retry(doubling(20_000, Value::Null), spread.clone(), 3),
                Vec::<String>::new()
            );
            assert_eq!(retry(doubling(20_000, json!(50_000)), spread.clone(), 3), jitter);
            assert_eq!(
                retry(doubling(20_000, Value::Null), spread.clone(), 8),
                jitter,
                "1.28 s"
            );
            assert_eq!(retry(json!({"fixed": {"delay_us": 1000}}), spread, 3), jitter);
        }
        assert_eq!(retry(doubling(20_000, Value::Null), json!("full"), 3), jitter);
        assert_eq!(retry(doubling(20_000, Value::Null), json!(1), 3), jitter);
        assert_eq!(retry(doubling(0, Value::Null), json!("equal"), 3), jitter);
    }

    #[test]
    fn whatever_is_not_spread_is_expressed() {
        let linear = json!({"linear": {"initial_us": 1, "increment_us": 1, "max_us": 2}});
        for backoff in [linear, json!({"fixed": {"delay_us": 0}}), doubling(7, json!(9))] {
            assert_eq!(retry(backoff, json!("none"), 9), Vec::<String>::new());
        }
    }

    #[test]
    fn what_a_stack_cannot_express_is_refused_where_it_stands() {
        let hedge = json!({"hedge": {"delay_us": 1, "max_attempts": 2}});
        let budget =
            json!({"retry_budget": {"ratio": 0.1, "min_per_s": 1, "capacity": 9, "scope": "client"}});
        let deadline = json!({"deadline": {"after_us": 1}});
        let limit =
            json!({"rate_limit": {"calls": 3, "per_us": 10, "burst": 2, "max_wait_us": 5, "scope": "user"}});
        let waiting =
            json!({"bulkhead": {"max_concurrent": 1, "max_waiting": 1, "max_wait_us": 5, "scope": "client"}});
        let due = [
            "strategy.stack[0].hedge",
            "strategy.stack[1].retry_budget",
            "strategy.stack[2].deadline",
            "strategy.stack[3].rate_limit.burst",
            "strategy.stack[3].rate_limit.max_wait_us",
            "strategy.stack[3].rate_limit.per_us",
            "strategy.stack[4].bulkhead.max_wait_us",
        ];
        assert_eq!(stack(json!([hedge, budget, deadline, limit, waiting])), due);
        let timeout = json!({"timeout": {"after_us": 1}});
        let limit =
            json!({"rate_limit": {"calls": 2, "per_us": 10, "burst": 1, "max_wait_us": 0, "scope": "user"}});
        assert_eq!(stack(json!([timeout, limit])), Vec::<String>::new());
    }
}
