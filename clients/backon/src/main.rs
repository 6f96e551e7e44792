//! backon's retry behind patternbench's client contract.

mod delays;

use backon::Retryable;
use delays::Delays;
use patternbench_client_kit::{
    Adapter, Answer, Description, Entry, Guard, Guarded, Jitter, Policy, Problems, Retry, Seeds, serve,
};
use std::process::ExitCode;
use std::rc::Rc;
use std::time::Duration;

/// backon has a retry alone.
struct BackonAdapter;

impl Adapter for BackonAdapter {
    fn description(&self) -> Description {
        Description {
            name: "backon",
            library: "backon",
            library_version: "1.5.2",
            strategies: &["baseline", "retry", "stack"],
        }
    }

    fn refuse(&self, entry: &Entry<'_>, problems: &mut Problems) {
        match entry.policy {
            Policy::Retry(retry) => refuse(retry, problems),
            _ => problems.lacking("retry"),
        }
    }

    fn guard(&self, policy: &Policy, seed: u64) -> Rc<dyn Guard> {
        match policy {
            Policy::Retry(retry) => Rc::new(Retrying {
                retry: Rc::new(retry.clone()),
                seeds: Seeds::new(seed),
            }),
            refused => unreachable!("{} was refused", refused.kind()),
        }
    }
}

fn refuse(retry: &Retry, problems: &mut Problems) {
    problems.retry_after(retry);
    if retry.jitter != Jitter::NONE && !delays::is_spread(retry) {
        let why = "backon adds up to a delay to that delay, of a fixed or an exponential back-off";
        problems.refuse(
            "jitter",
            retry.jitter.to_string(),
            why,
            "none; or equal, but not of linear delays",
        );
    }
}

/// backon's retry around what it guards.
struct Retrying {
    retry: Rc<Retry>,
    seeds: Seeds,
}

impl Guard for Retrying {
    fn call(&self, guarded: Guarded) -> Answer {
        let retry = Rc::clone(&self.retry);
        let delays = Delays::of(&self.retry, self.seeds.draw());
        let attempt = move || {
            let attempt = guarded();
            async move {
                let outcome = attempt.await;
                if outcome.is_success() {
                    Ok(outcome)
                } else {
                    Err(outcome)
                }
            }
        };
        Box::pin(async move {
            let call = attempt
                .retry(delays)
                .sleep(pause)
                .when(|outcome| retry.is_retried(*outcome))
                .notify(|_, _| {})
                .adjust(|_, delay| delay);
            call.await.unwrap_or_else(|last| last)
        })
    }
}

/// What is due already needs no timer, which would last until its next millisecond.
async fn pause(delay: Duration) {
    if !delay.is_zero() {
        tokio::time::sleep(delay).await;
    }
}

fn main() -> ExitCode {
    serve(BackonAdapter)
}

#[cfg(test)]
mod tests {
    use super::*;
    use patternbench_client_kit::Outcome;
    use patternbench_client_kit::testing::{policy, refused};
    use serde_json::{Value, json};
    use std::cell::Cell;
    use tokio::time::Instant;

    fn retry(backoff: Value, jitter: Value) -> Value {
        json!({"max_attempts": 3, "backoff": backoff, "jitter": jitter})
    }

    fn failing(outcome: Outcome, begun: &Rc<Cell<u32>>) -> Guarded {
        let begun = Rc::clone(begun);
        Rc::new(move || -> Answer {
            begun.set(begun.get() + 1);
            Box::pin(async move { outcome })
        })
    }

    #[test]
    fn the_version_that_is_told_is_the_one_that_is_built_in() {
        let pinned = format!(
            "backon = {{ version = \"={}\"",
            BackonAdapter.description().library_version
        );
        assert!(include_str!("../Cargo.toml").contains(&pinned), "{pinned}");
    }

    #[tokio::test(start_paused = true)]
    async fn attempts_include_the_first_and_a_call_ends_with_its_last() {
        let begun = Rc::default();
        let fixed = json!({"retry": retry(json!({"fixed": {"delay_us": 20_000}}), json!("none"))});
        let began = Instant::now();
        let call = BackonAdapter
            .guard(&policy(fixed), 1)
            .call(failing(Outcome::Timeout, &begun));
        assert_eq!(call.await, Outcome::Timeout);
        assert_eq!(begun.get(), 3);
        assert!((40..50).contains(&began.elapsed().as_millis()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_retry_chooses_what_it_tries_again_and_never_a_rejection() {
        let plain = retry(json!({"fixed": {"delay_us": 0}}), json!("none"));
        for (on, outcome) in [
            (json!([404]), Outcome::Answered(503)),
            (Value::Null, Outcome::Rejected),
        ] {
            let begun = Rc::default();
            let mut chosen = plain.clone();
            chosen["on"] = on;
            let guard = BackonAdapter.guard(&policy(json!({"stack": [{"retry": chosen}]})), 1);
            assert_eq!(guard.call(failing(outcome, &begun)).await, outcome);
            assert_eq!(begun.get(), 1);
        }
    }

    #[test]
    fn what_backon_cannot_express_is_refused_by_name() {
        let of =
            |backoff: Value, jitter: Value| refused(json!({"retry": retry(backoff, jitter)}), &BackonAdapter);
        let fixed = || json!({"fixed": {"delay_us": 1000}});
        let linear = || json!({"linear": {"initial_us": 1, "increment_us": 1, "max_us": null}});
        let jitter = ["strategy.retry.jitter"];
        assert_eq!(of(fixed(), json!("equal")), Vec::<String>::new());
        assert_eq!(of(linear(), json!("none")), Vec::<String>::new());
        for spread in [json!("full"), json!(0.5)] {
            assert_eq!(of(fixed(), spread), jitter);
        }
        assert_eq!(of(linear(), json!("equal")), jitter);
        let timeout = json!({"timeout": {"after_us": 1}});
        assert_eq!(
            refused(json!({"stack": [timeout]}), &BackonAdapter),
            ["strategy.stack[0].timeout"]
        );
    }
}
