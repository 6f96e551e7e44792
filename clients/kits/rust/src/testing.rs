//! Rounds as JSON, and the contract's shared vectors; for the tests of the kit and of every adapter.

use crate::{Adapter, Answer, Description, Entry, Guard, Guarded, Outcome, Policy, Problems, problems};
use serde_json::{Value, json};
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

/// Policies without a library: a retry that never waits, and a time-out.
pub struct PlainAdapter;

impl Adapter for PlainAdapter {
    fn description(&self) -> Description {
        Description {
            name: "plain",
            library: "none",
            library_version: "0",
            strategies: &["baseline", "retry", "stack"],
        }
    }

    fn refuse(&self, entry: &Entry<'_>, problems: &mut Problems) {
        if !matches!(entry.policy, Policy::Retry(_) | Policy::Timeout(_)) {
            problems.lacking("retry, timeout");
        }
    }

    fn guard(&self, policy: &Policy, _seed: u64) -> Rc<dyn Guard> {
        Rc::new(Plain(policy.clone()))
    }
}

struct Plain(Policy);

impl Guard for Plain {
    fn call(&self, guarded: Guarded) -> Answer {
        match self.0.clone() {
            Policy::Timeout(after) => Box::pin(async move {
                let longest = Duration::from_micros(after.after_us);
                tokio::time::timeout(longest, guarded())
                    .await
                    .unwrap_or(Outcome::Timeout)
            }),
            Policy::Retry(retry) => Box::pin(async move {
                let mut outcome = guarded().await;
                for _ in 1..retry.max_attempts {
                    if retry.is_retried(outcome) {
                        outcome = guarded().await;
                    }
                }
                outcome
            }),
            _ => guarded(),
        }
    }
}

/// A round of one user with a strategy.
pub fn round(strategy: Value) -> Value {
    json!({
        "contract": 1,
        "target": "http://127.0.0.1:1",
        "request": {"method": "GET", "path": "/x", "headers": {}, "body": null, "timeout_us": 1_000_000},
        "users": 1,
        "think_time_us": 0,
        "successes": 1,
        "max_attempts": null,
        "rejected_pause_us": 1000,
        "time_limit_us": 10_000_000,
        "seed": 1,
        "strategy": strategy,
    })
}

/// Where the problems are that a client has with a round of a strategy.
#[must_use]
pub fn refused(strategy: Value, adapter: &dyn Adapter) -> Vec<String> {
    let noted = problems(round(strategy).to_string().as_bytes(), adapter)
        .err()
        .unwrap_or_default();
    noted.into_iter().map(|problem| problem.path).collect()
}

/// The only policy of a strategy, which may be one that the client cannot express.
///
/// # Panics
/// When there isn't exactly one policy, or the round isn't valid.
#[must_use]
pub fn policy(strategy: Value) -> Policy {
    let round: crate::Round = serde_json::from_value(round(strategy)).expect("a round");
    let policies = round.strategy.policies();
    assert_eq!(policies.len(), 1);
    policies[0].clone()
}

/// The cases of a file of `contracts/client/vectors`.
///
/// # Panics
/// When there is no such file.
#[must_use]
pub fn vectors(name: &str) -> Vec<Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../contracts/client/vectors");
    let text =
        std::fs::read_to_string(folder.join(format!("{name}.json"))).expect("the vectors of the contract");
    let file: Value = serde_json::from_str(&text).expect("JSON");
    file["cases"].as_array().expect("a list of cases").clone()
}
