//! What the client does about slow and failing calls: a list of policies, outermost first.

use super::fields::{Node, Object, Problems, all, few, positive_us, status_range, time_us};
use patternbench_policies::backoff::{Backoff, Jitter};
use patternbench_policies::outcome::Failures;
use patternbench_policies::shared::Scope;
use patternbench_policies::stack::{MOST_ATTEMPTS, Policy, idle_budgets, most_attempts};
use patternbench_policies::{breaker, budget, bulkhead, deadline, hedge, rate_limit, retry, timeout};
use patternbench_schedule::Problem;
use serde_json::Value;

/// The most of anything that is counted.
const MOST: u64 = 1_000_000;
/// The longest wait that a server asks for and that is granted, unless a job says otherwise, in microseconds.
const RETRY_AFTER_MAX_US: u64 = 60_000_000;

const POLICIES: [&str; 8] = [
    "timeout",
    "deadline",
    "retry",
    "retry_budget",
    "circuit_breaker",
    "bulkhead",
    "hedge",
    "rate_limit",
];

/// The policies in a list of a job's form, outermost first.
///
/// # Errors
/// Everything that is wrong with them, at once.
pub fn client_policies(value: &Value) -> Result<Vec<Policy>, Vec<Problem>> {
    let problems = Problems::default();
    let found = policies(&Node::root(value, &problems));
    let list = problems.into_list();
    match found {
        Some(found) if list.is_empty() => Ok(found),
        _ => Err(list),
    }
}

pub fn policies(node: &Node<'_>) -> Option<Vec<Policy>> {
    let nodes = few(node)?;
    let policies = all(nodes.iter().map(policy))?;
    for place in idle_budgets(&policies) {
        nodes[place].wrong(
            "a retry or a hedge before it in the list",
            "it would have nothing to refuse here",
        );
    }
    if most_attempts(&policies) > MOST_ATTEMPTS {
        node.wrong(
            format!("max_attempts whose product is at most {MOST_ATTEMPTS}"),
            format!("one call could make {} attempts", most_attempts(&policies)),
        );
    }
    Some(policies)
}

fn policy(node: &Node<'_>) -> Option<Policy> {
    let (name, node) = node.choice(&POLICIES)?;
    match name {
        "timeout" => Some(Policy::Timeout(timeout::Config {
            after_us: after(&node)?,
        })),
        "deadline" => Some(Policy::Deadline(deadline::Config {
            after_us: after(&node)?,
        })),
        "retry" => retry(&node),
        "retry_budget" => retry_budget(&node),
        "circuit_breaker" => circuit_breaker(&node),
        "bulkhead" => bulkhead(&node),
        "hedge" => hedge(&node),
        _ => rate_limit(&node),
    }
}

fn count(node: &Node<'_>) -> Option<u32> {
    u32::try_from(node.whole(1..=MOST)?).ok()
}

fn count_or_none(node: &Node<'_>) -> Option<u32> {
    u32::try_from(node.whole(0..=MOST)?).ok()
}

fn attempts(node: &Node<'_>) -> Option<u32> {
    u32::try_from(node.whole(1..=1000)?).ok()
}

/// A share in percent, above zero.
fn percent(node: &Node<'_>) -> Option<f64> {
    let percent = node.number_within(0.0..=100.0)?;
    if percent == 0.0 {
        node.wrong("a number above 0, at most 100", "it would always be reached");
        return None;
    }
    Some(percent)
}

fn scope(object: &Object<'_>) -> Option<Scope> {
    let known = [("client", Scope::Client), ("user", Scope::User)];
    object.or("scope", Scope::Client, |node| node.one_of(&known))
}

fn after(node: &Node<'_>) -> Option<u64> {
    node.object(&["after_us"])?.need("after_us", positive_us)
}

fn retry(node: &Node<'_>) -> Option<Policy> {
    let object = node.object(&["max_attempts", "backoff", "jitter", "on", "retry_after_max_us"])?;
    let plain = plain(&object);
    let on = object.or("on", Failures::all(), failures);
    let retry_after = object.or("retry_after_max_us", RETRY_AFTER_MAX_US, time_us);
    Some(Policy::Retry(retry::Config {
        on: on?,
        // Zero is how a job says that wishes are not heard.
        retry_after_max_us: retry_after.map(|max| (max > 0).then_some(max))?,
        ..plain?
    }))
}

/// A retry of everything that fails, which hears no wishes of servers.
pub fn plain_retry(node: &Node<'_>) -> Option<Policy> {
    plain(&node.object(&["max_attempts", "backoff", "jitter"])?).map(Policy::Retry)
}

fn plain(object: &Object<'_>) -> Option<retry::Config> {
    let max_attempts = object.need("max_attempts", attempts);
    let backoff = object.need("backoff", backoff);
    let jitter = object.or("jitter", Jitter::None, jitter);
    Some(retry::Config {
        max_attempts: max_attempts?,
        backoff: backoff?,
        jitter: jitter?,
        on: Failures::all(),
        retry_after_max_us: None,
    })
}

fn backoff(node: &Node<'_>) -> Option<Backoff> {
    let (name, node) = node.choice(&["fixed", "linear", "exponential"])?;
    match name {
        "fixed" => {
            let delay_us = node.object(&["delay_us"])?.need("delay_us", time_us)?;
            Some(Backoff::Fixed { delay_us })
        }
        "linear" => linear(&node.object(&["initial_us", "increment_us", "max_us"])?),
        _ => exponential(&node.object(&["initial_us", "multiplier", "max_us"])?),
    }
}

fn linear(object: &Object<'_>) -> Option<Backoff> {
    let initial = object.need("initial_us", time_us);
    let increment = object.need("increment_us", time_us);
    let max_us = object.maybe("max_us", positive_us)?;
    Some(Backoff::Linear {
        initial_us: initial?,
        increment_us: increment?,
        max_us,
    })
}

fn exponential(object: &Object<'_>) -> Option<Backoff> {
    let initial = object.need("initial_us", time_us);
    let multiplier = object.need("multiplier", |node| node.number_within(1.0..=1000.0));
    let max_us = object.maybe("max_us", positive_us)?;
    Some(Backoff::Exponential {
        initial_us: initial?,
        multiplier: multiplier?,
        max_us,
    })
}

fn jitter(node: &Node<'_>) -> Option<Jitter> {
    if let Some(share) = node.value.as_f64().filter(|share| (0.0..=1.0).contains(share)) {
        return Some(Jitter::Proportional(share));
    }
    let known = [
        ("none", Jitter::None),
        ("full", Jitter::Full),
        ("equal", Jitter::Equal),
    ];
    let found = node
        .value
        .as_str()
        .and_then(|text| known.iter().find(|(name, _)| *name == text));
    if found.is_none() {
        node.wrong("none, full, equal, or a share from 0 to 1", "is not one of them");
    }
    found.map(|(_, jitter)| *jitter)
}

/// Some of the failures: their names, statuses, ranges of statuses.
fn failures(node: &Node<'_>) -> Option<Failures> {
    let mut chosen = Failures {
        statuses: Vec::new(),
        unexpected: false,
        timeouts: false,
        connection_errors: false,
    };
    let mut wrong = false;
    for entry in few(node)? {
        match entry.value.as_str() {
            Some("timeout") => chosen.timeouts = true,
            Some("connection_error") => chosen.connection_errors = true,
            Some("expectation_failed") => chosen.unexpected = true,
            _ => match status_range(entry.value) {
                Some(range) => chosen.statuses.push(range),
                None => {
                    wrong = true;
                    entry.wrong(
                        "timeout, connection_error, expectation_failed, a status, or a range as 500-599",
                        "is not one of them",
                    );
                }
            },
        }
    }
    (!wrong).then_some(chosen)
}

fn retry_budget(node: &Node<'_>) -> Option<Policy> {
    let object = node.object(&["ratio", "min_per_s", "capacity", "scope"])?;
    let ratio = object.need("ratio", |node| node.number_within(0.0..=1000.0));
    let min_per_s = object.or("min_per_s", 0, count_or_none);
    let capacity = object.need("capacity", count);
    let scope = scope(&object);
    let config = budget::Config {
        ratio: ratio?,
        min_per_s: min_per_s?,
        capacity: capacity?,
    };
    Some(Policy::RetryBudget(scope?, config))
}

/// The fields of a breaker, followed by those that only a breaker in a stack has.
const BREAKER: [&str; 7] = [
    "failure_rate",
    "slow_call",
    "window",
    "minimum_calls",
    "open_for_us",
    "half_open_calls",
    "scope",
];
const COUNTED: &str = "on";

fn circuit_breaker(node: &Node<'_>) -> Option<Policy> {
    let object = node.object(&[BREAKER.as_slice(), &[COUNTED]].concat())?;
    let breaker = breaker(&object);
    let counted = object.or(COUNTED, Failures::all(), failures);
    let (scope, config) = breaker?;
    Some(Policy::CircuitBreaker(scope, config, counted?))
}

/// A breaker that counts every failure.
pub fn plain_breaker(node: &Node<'_>) -> Option<Policy> {
    let (scope, config) = breaker(&node.object(&BREAKER)?)?;
    Some(Policy::CircuitBreaker(scope, config, Failures::all()))
}

fn breaker(object: &Object<'_>) -> Option<(Scope, breaker::Config)> {
    let failure_rate = object.need("failure_rate", percent);
    let slow_call = object.maybe("slow_call", slow_call);
    let window = object.need("window", window);
    let minimum_calls = object.need("minimum_calls", count);
    let open_for_us = object.need("open_for_us", positive_us);
    let half_open_calls = object.need("half_open_calls", count);
    let scope = scope(object);
    fits_window(object, window, minimum_calls)?;
    let config = breaker::Config {
        failure_rate: failure_rate?,
        slow_call: slow_call?,
        window: window?,
        minimum_calls: minimum_calls?,
        open_for_us: open_for_us?,
        half_open_calls: half_open_calls?,
    };
    Some((scope?, config))
}

/// With fewer results in the window than it takes to judge, a breaker would never open.
fn fits_window(
    object: &Object<'_>,
    window: Option<breaker::Window>,
    minimum_calls: Option<u32>,
) -> Option<()> {
    match (window, minimum_calls) {
        (Some(breaker::Window::Calls(calls)), Some(minimum)) if calls < minimum => {
            object.get("minimum_calls")?.wrong(
                format!("at most window.calls, {calls}"),
                "the breaker would never open",
            );
            None
        }
        _ => Some(()),
    }
}

fn slow_call(node: &Node<'_>) -> Option<breaker::SlowCall> {
    let object = node.object(&["rate", "duration_us"])?;
    let rate = object.need("rate", percent);
    let duration_us = object.need("duration_us", positive_us)?;
    Some(breaker::SlowCall {
        rate: rate?,
        duration_us,
    })
}

fn window(node: &Node<'_>) -> Option<breaker::Window> {
    let (name, node) = node.choice(&["calls", "time_us"])?;
    if name == "calls" {
        count(&node).map(breaker::Window::Calls)
    } else {
        positive_us(&node).map(breaker::Window::TimeUs)
    }
}

fn bulkhead(node: &Node<'_>) -> Option<Policy> {
    let object = node.object(&["max_concurrent", "max_waiting", "max_wait_us", "scope"])?;
    let max_concurrent = object.need("max_concurrent", count);
    let max_waiting = object.or("max_waiting", 0, count_or_none);
    let max_wait_us = object.maybe("max_wait_us", positive_us);
    let scope = scope(&object);
    let config = bulkhead::Config {
        max_concurrent: max_concurrent?,
        max_waiting: max_waiting?,
        max_wait_us: max_wait_us?,
    };
    Some(Policy::Bulkhead(scope?, config))
}

fn hedge(node: &Node<'_>) -> Option<Policy> {
    let object = node.object(&["max_attempts", "delay_us"])?;
    let max_attempts = object.need("max_attempts", attempts);
    let delay_us = object.need("delay_us", time_us)?;
    Some(Policy::Hedge(hedge::Config {
        max_attempts: max_attempts?,
        delay_us,
    }))
}

fn rate_limit(node: &Node<'_>) -> Option<Policy> {
    let object = node.object(&["calls", "per_us", "burst", "max_wait_us", "scope"])?;
    let calls = object.need("calls", count);
    let per_us = object.need("per_us", positive_us);
    let burst = object.or("burst", 1, count);
    let max_wait_us = object.or("max_wait_us", 0, time_us);
    let scope = scope(&object);
    let config = rate_limit::Config {
        calls: calls?,
        per_us: per_us?,
        burst: burst?,
        max_wait_us: max_wait_us?,
    };
    Some(Policy::RateLimit(scope?, config))
}
