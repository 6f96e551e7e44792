//! What a client cannot do of a round: by the path of the field, with what would be allowed.

use crate::round::CONTRACT;
use crate::{Adapter, Entry, Policy, Problem, Problems, Round, Strategy};
use serde_json::{Value, json};

const OWN_HEADERS: [&str; 4] = ["content-length", "transfer-encoding", "connection", "host"];

/// The round of a request's body, or all that this client cannot do of it.
///
/// # Errors
/// Every problem that there is.
pub fn problems(body: &[u8], adapter: &dyn Adapter) -> Result<Round, Vec<Problem>> {
    let round = read(body).map_err(|problem| vec![problem])?;
    let noted = of_round(&round, adapter);
    if noted.is_empty() { Ok(round) } else { Err(noted) }
}

fn read(body: &[u8]) -> Result<Round, Problem> {
    let wrong = |path: &str, value: Value, message: String| {
        let path = path.to_owned();
        Problem {
            path,
            value,
            message,
            allowed: None,
        }
    };
    let text: Value = serde_json::from_slice(body)
        .map_err(|error| wrong("", Value::Null, format!("is not JSON: {error}")))?;
    if text["contract"] != json!(CONTRACT) {
        let message = format!("is not a round of version {CONTRACT} of the contract");
        return Err(wrong("contract", text["contract"].clone(), message));
    }
    serde_json::from_value(text)
        .map_err(|error| wrong("", Value::Null, format!("is not as the contract has it: {error}")))
}

fn of_round(round: &Round, adapter: &dyn Adapter) -> Vec<Problem> {
    let description = adapter.description();
    let mut problems = Problems::new(description.library);
    for name in round.request.headers.keys().filter(|name| is_own(name)) {
        let path = format!("request.headers.{name}");
        problems.refuse(&path, Value::Null, "this client sets the header itself", "");
    }
    let kind = round.strategy.kind();
    if description.strategies.contains(&kind) {
        of_policies(round, adapter, &mut problems);
    } else {
        problems.refuse(
            "strategy",
            kind,
            "this client does not have it",
            &description.strategies.join(", "),
        );
    }
    problems.noted
}

fn is_own(header: &str) -> bool {
    OWN_HEADERS.contains(&header.to_lowercase().as_str())
}

fn of_policies(round: &Round, adapter: &dyn Adapter, problems: &mut Problems) {
    let policies = round.strategy.policies();
    for (index, policy) in policies.iter().enumerate() {
        problems.under = path(&round.strategy, index, policy);
        let entry = Entry {
            policy,
            guarded: &policies[index + 1..],
            users: round.users,
        };
        adapter.refuse(&entry, problems);
    }
}

/// Where a policy stands in a round.
fn path(strategy: &Strategy, index: usize, policy: &Policy) -> String {
    match strategy {
        Strategy::Stack(_) => format!("strategy.stack[{index}].{}", policy.kind()),
        _ => format!("strategy.{}", policy.kind()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{PlainAdapter, refused, round};
    use crate::{Bulkhead, Scope};

    fn paths(body: &Value) -> Vec<String> {
        let noted = problems(body.to_string().as_bytes(), &PlainAdapter)
            .err()
            .unwrap_or_default();
        noted.into_iter().map(|problem| problem.path).collect()
    }

    fn bulkhead(max_waiting: usize) -> Value {
        json!({"bulkhead": {"max_concurrent": 2, "max_waiting": max_waiting, "scope": "client"}})
    }

    #[test]
    fn a_policy_that_the_client_lacks_is_refused_where_it_stands() {
        let hedge = json!({"hedge": {"delay_us": 1, "max_attempts": 2}});
        let due = ["strategy.stack[0].bulkhead", "strategy.stack[1].hedge"];
        assert_eq!(
            refused(json!({"stack": [bulkhead(0), hedge]}), &PlainAdapter),
            due
        );
    }

    #[test]
    fn a_strategy_that_the_client_lacks_is_refused_by_its_name() {
        let breaker = json!({"circuit_breaker": {
            "failure_rate": 100, "slow_call": null, "window": {"calls": 2}, "minimum_calls": 2, "open_for_us": 1,
            "half_open_calls": 1, "scope": "client",
        }});
        let noted = problems(round(breaker).to_string().as_bytes(), &PlainAdapter).unwrap_err();
        assert_eq!(
            (noted[0].path.as_str(), &noted[0].value),
            ("strategy", &json!("circuit_breaker"))
        );
    }

    #[test]
    fn another_version_and_what_is_no_round_are_one_problem_each() {
        let baseline = || round(json!({"baseline": {}}));
        assert_eq!(paths(&baseline()), Vec::<String>::new());
        let mut later = baseline();
        later["contract"] = json!(2);
        assert_eq!(paths(&later), ["contract"]);
        let mut more = baseline();
        more["invented_later"] = json!(2);
        assert_eq!(paths(&more), [""]);
        for text in ["", "{", "null", "[]", "{}"] {
            assert_eq!(
                problems(text.as_bytes(), &PlainAdapter).unwrap_err().len(),
                1,
                "{text}"
            );
        }
    }

    #[test]
    fn headers_that_the_client_sets_itself_are_refused() {
        let mut body = round(json!({"baseline": {}}));
        body["request"]["headers"] = json!({"Content-Length": "3", "X-Fine": "yes"});
        assert_eq!(paths(&body), ["request.headers.Content-Length"]);
    }

    #[test]
    fn a_bound_on_who_waits_is_refused_only_where_it_could_be_reached() {
        let noted = |max_waiting, users| {
            let mut problems = Problems::new("some library");
            let scope = Scope::Client;
            let bulkhead = Bulkhead {
                max_concurrent: 2,
                max_waiting,
                max_wait_us: None,
                scope,
            };
            problems.bounded_waiting(&bulkhead, users);
            problems.noted.len()
        };
        assert_eq!((noted(3, 5), noted(3, 6), noted(0, 6)), (0, 1, 0));
    }
}
