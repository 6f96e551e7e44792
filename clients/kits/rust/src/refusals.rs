//! What a client cannot do of a round: by the path of the field, with what would be allowed.

use crate::round::CONTRACT;
use crate::{Adapter, Bulkhead, Entry, Policy, Retry, Round, Scope, Strategy};
use serde::Serialize;
use serde_json::{Value, json};

const OWN_HEADERS: [&str; 4] = ["content-length", "transfer-encoding", "connection", "host"];

/// One thing that a client cannot do of a round.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Problem {
    /// Where in the round, as `strategy.retry.jitter`.
    pub path: String,
    /// What stands there; null when nothing does.
    pub value: Value,
    /// What is wrong with it.
    pub message: String,
    /// What may stand there, if anything may.
    pub allowed: Option<String>,
}

/// The problems of a round, noted one after another.
#[derive(Debug)]
pub struct Problems {
    noted: Vec<Problem>,
    library: &'static str,
    under: String,
}

impl Problems {
    fn new(library: &'static str) -> Self {
        Self {
            noted: Vec::new(),
            library,
            under: String::new(),
        }
    }

    /// Notes that the library cannot express what stands at a path below the policy; an empty one is all of it.
    pub fn refuse(&mut self, path: &str, value: impl Into<Value>, message: impl Into<String>, allowed: &str) {
        let whole = if path.is_empty() || self.under.is_empty() {
            ""
        } else {
            "."
        };
        self.noted.push(Problem {
            path: format!("{}{whole}{path}", self.under),
            value: value.into(),
            message: message.into(),
            allowed: (!allowed.is_empty()).then(|| allowed.to_owned()),
        });
    }

    /// Refuses a policy that the library does not have.
    pub fn lacking(&mut self, allowed: &str) {
        self.refuse("", Value::Null, "this client does not have it", allowed);
    }

    /// Refuses to heed `Retry-After`, which no client of this kit reads.
    pub fn retry_after(&mut self, retry: &Retry) {
        if retry.retry_after_max_us > 0 {
            let why = "this client does not read Retry-After";
            self.refuse("retry_after_max_us", retry.retry_after_max_us, why, "0");
        }
    }

    /// Refuses a bound on how many wait, for libraries without one, unless it is never reached.
    pub fn bounded_waiting(&mut self, bulkhead: &Bulkhead, users: usize) {
        let most = match bulkhead.scope {
            Scope::Client => users.saturating_sub(bulkhead.max_concurrent),
            Scope::User => 0,
        };
        if bulkhead.max_waiting > 0 && bulkhead.max_waiting < most {
            let why = format!(
                "{} does not bound how many wait; of these users {most} may",
                self.library
            );
            self.refuse(
                "max_waiting",
                bulkhead.max_waiting,
                why,
                &format!("0, or at least {most}"),
            );
        }
    }
}

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
