//! A round as the contract describes it: checked when it is read, valid from then on.

use crate::fields::{Fields, Problem, Problems};
use patternbench_policies::backoff::{Backoff, Jitter};
use patternbench_policies::breaker::{Config, SlowCall, Window};
use serde_json::Value;
use ureq::http::{HeaderMap, HeaderName, HeaderValue, Method, Uri};

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

/// The request of every attempt.
#[derive(Debug, Clone)]
pub struct RequestPlan {
    /// Its method.
    pub method: Method,
    /// Target and path.
    pub uri: Uri,
    /// Its headers, besides Host and Content-Length.
    pub headers: HeaderMap,
    /// Its body, if any.
    pub body: Option<String>,
    /// For each attempt.
    pub timeout_us: u64,
}

/// The pattern that users follow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Strategy {
    /// One attempt a call.
    Baseline,
    /// Several attempts a call.
    Retry {
        /// The first one included.
        max_attempts: u64,
        /// The delays between them.
        backoff: Backoff,
        /// What chance does to the delays.
        jitter: Jitter,
    },
    /// One attempt a call, unless a breaker rejects it.
    CircuitBreaker {
        /// Of each breaker.
        config: Config,
        /// Who shares one.
        scope: Scope,
    },
}

/// Who shares a breaker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Each user has its own.
    User,
    /// All users of the round share one.
    Client,
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

const TARGETS: &str =
    "http, host and port and nothing else, as http://127.0.0.1:8080 (this client speaks no TLS)";

fn read_target(value: &Value) -> Option<&str> {
    let text = value.as_str()?;
    let uri: Uri = text.parse().ok()?;
    let plain = uri.scheme_str() == Some("http") && uri.host().is_some_and(|host| !host.is_empty());
    let bare = uri.path_and_query().is_none_or(|path| path == "/") && !text.contains(['@', '#']);
    (plain && bare).then(|| text.trim_end_matches('/'))
}

const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

fn read_request(fields: Fields, target: Option<&str>) -> Option<RequestPlan> {
    let one_of = format!("one of {}", METHODS.join(", "));
    let method = fields.get("method", &one_of, |value| {
        let name = value.as_str().filter(|name| METHODS.contains(name))?;
        Method::from_bytes(name.as_bytes()).ok()
    });
    // Without a target any other will do to tell whether the path is one.
    let origin = target.unwrap_or("http://localhost");
    let uri = fields.get("path", "a path from /, percent-encoded", |value| {
        read_uri(origin, value)
    });
    let headers = fields.object("headers").and_then(read_headers);
    let body = fields.get("body", "null, or a string", |value| match value {
        Value::Null => Some(None),
        value => value.as_str().map(|body| Some(body.to_owned())),
    });
    let timeout_us = fields.whole("timeout_us", 1, u64::MAX);
    fields.end();
    target?;
    Some(RequestPlan {
        method: method?,
        uri: uri?,
        headers: headers?,
        body: body?,
        timeout_us: timeout_us?,
    })
}

fn read_uri(origin: &str, value: &Value) -> Option<Uri> {
    let path = value
        .as_str()
        .filter(|path| path.starts_with('/') && !path.contains('#'))?;
    format!("{origin}{path}").parse().ok()
}

/// What the client sets by itself, to say where a message ends.
const OWN_HEADERS: [&str; 3] = ["content-length", "transfer-encoding", "connection"];

fn read_headers(fields: Fields) -> Option<HeaderMap> {
    let mut headers = HeaderMap::new();
    let mut complete = true;
    for (name, value) in fields.entries() {
        match read_header(name, value) {
            Ok((name, value)) => drop(headers.append(name, value)),
            Err(allowed) => {
                fields.note(name, value, "is not allowed", allowed);
                complete = false;
            }
        }
    }
    complete.then_some(headers)
}

fn read_header(name: &str, value: &Value) -> Result<(HeaderName, HeaderValue), &'static str> {
    let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| "the name of a header")?;
    if OWN_HEADERS.contains(&name.as_str()) {
        return Err("any header but Content-Length, Transfer-Encoding and Connection, which the client sets");
    }
    let value = value.as_str().and_then(|value| HeaderValue::from_str(value).ok());
    value
        .map(|value| (name, value))
        .ok_or("a string of visible ASCII characters")
}

fn read_strategy(fields: Fields) -> Option<Strategy> {
    let name = fields.choice(&["baseline", "retry", "circuit_breaker"]);
    let strategy = name.and_then(|name| {
        let inside = fields.inside(name)?;
        match name {
            "baseline" => {
                inside.end();
                Some(Strategy::Baseline)
            }
            "retry" => read_retry(inside),
            _ => read_breaker(inside),
        }
    });
    fields.end();
    strategy
}

fn read_retry(fields: Fields) -> Option<Strategy> {
    let max_attempts = fields.whole("max_attempts", 1, u64::from(u32::MAX));
    let backoff = fields.object("backoff").and_then(read_backoff);
    let jitter = fields.get(
        "jitter",
        "none, full, equal, or a number above 0 and at most 1",
        read_jitter,
    );
    fields.end();
    Some(Strategy::Retry {
        max_attempts: max_attempts?,
        backoff: backoff?,
        jitter: jitter?,
    })
}

fn read_backoff(fields: Fields) -> Option<Backoff> {
    let name = fields.choice(&["fixed", "linear", "exponential"]);
    let backoff = name.and_then(|name| {
        let inside = fields.inside(name)?;
        match name {
            "fixed" => read_fixed(inside),
            "linear" => read_linear(inside),
            _ => read_exponential(inside),
        }
    });
    fields.end();
    backoff
}

fn read_fixed(fields: Fields) -> Option<Backoff> {
    let delay_us = fields.whole("delay_us", 0, u64::MAX);
    fields.end();
    Some(Backoff::Fixed { delay_us: delay_us? })
}

fn read_linear(fields: Fields) -> Option<Backoff> {
    let initial_us = fields.whole("initial_us", 0, u64::MAX);
    let increment_us = fields.whole("increment_us", 0, u64::MAX);
    let max_us = fields.whole_or_null("max_us", 1, u64::MAX);
    fields.end();
    Some(Backoff::Linear {
        initial_us: initial_us?,
        increment_us: increment_us?,
        max_us: max_us?,
    })
}

fn read_exponential(fields: Fields) -> Option<Backoff> {
    let initial_us = fields.whole("initial_us", 0, u64::MAX);
    let multiplier = fields.get("multiplier", "a number of at least 1", |value| {
        value.as_f64().filter(|m| *m >= 1.0)
    });
    let max_us = fields.whole_or_null("max_us", 1, u64::MAX);
    fields.end();
    Some(Backoff::Exponential {
        initial_us: initial_us?,
        multiplier: multiplier?,
        max_us: max_us?,
    })
}

fn read_jitter(value: &Value) -> Option<Jitter> {
    match value.as_str() {
        Some("none") => Some(Jitter::None),
        Some("full") => Some(Jitter::Full),
        Some("equal") => Some(Jitter::Equal),
        Some(_) => None,
        None => value
            .as_f64()
            .filter(|j| *j > 0.0 && *j <= 1.0)
            .map(Jitter::Proportional),
    }
}

fn read_breaker(fields: Fields) -> Option<Strategy> {
    let failure_rate = fields.percent("failure_rate");
    let slow_call = fields.object_or_null("slow_call").and_then(read_slow_call);
    let window = fields.object("window").and_then(read_window);
    let minimum_calls = fields.whole("minimum_calls", 1, most_minimum(window));
    let open_for_us = fields.whole("open_for_us", 1, u64::MAX);
    let half_open_calls = fields.whole("half_open_calls", 1, u64::from(u32::MAX));
    let scope = fields.get("scope", "user or client", |value| match value.as_str()? {
        "user" => Some(Scope::User),
        "client" => Some(Scope::Client),
        _ => None,
    });
    fields.end();
    let config = Config {
        failure_rate: failure_rate?,
        slow_call: slow_call?,
        window: window?,
        minimum_calls: minimum_calls? as u32,
        open_for_us: open_for_us?,
        half_open_calls: half_open_calls? as u32,
    };
    Some(Strategy::CircuitBreaker {
        config,
        scope: scope?,
    })
}

/// A breaker that waits for more results than its window holds would never open.
fn most_minimum(window: Option<Window>) -> u64 {
    match window {
        Some(Window::Calls(calls)) => u64::from(calls),
        _ => u64::from(u32::MAX),
    }
}

/// `None` stands for a problem, `Some(None)` for a breaker that does not look at slow calls.
fn read_slow_call(fields: Option<Fields>) -> Option<Option<SlowCall>> {
    let Some(fields) = fields else {
        return Some(None);
    };
    let rate = fields.percent("rate");
    let duration_us = fields.whole("duration_us", 1, u64::MAX);
    fields.end();
    Some(Some(SlowCall {
        rate: rate?,
        duration_us: duration_us?,
    }))
}

fn read_window(fields: Fields) -> Option<Window> {
    let window = fields.choice(&["calls", "time_us"]).and_then(|name| match name {
        "calls" => fields
            .whole("calls", 1, u64::from(u32::MAX))
            .map(|calls| Window::Calls(calls as u32)),
        _ => fields.whole("time_us", 1, u64::MAX).map(Window::TimeUs),
    });
    fields.end();
    window
}

#[cfg(test)]
mod tests {
    use super::{MOST_USERS, read};
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn contract(name: &str) -> Value {
        let path = format!("{}/../../../contracts/client/{name}", env!("CARGO_MANIFEST_DIR"));
        serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
    }

    fn strategies() -> Vec<Value> {
        let mut strategies = vec![json!({"baseline": {}})];
        for case in contract("vectors/backoff.json")["cases"].as_array().unwrap() {
            strategies.push(json!({"retry": {"max_attempts": 3, "backoff": case["backoff"], "jitter": 0.5}}));
        }
        for case in contract("vectors/breaker.json")["cases"].as_array().unwrap() {
            strategies.push(json!({"circuit_breaker": case["circuit_breaker"]}));
        }
        strategies
    }

    fn round(strategy: &Value) -> Value {
        json!({
            "contract": 1, "target": "http://127.0.0.1:8080",
            "request": {"method": "GET", "path": "/", "headers": {"x-a": "b"}, "body": null, "timeout_us": 1},
            "users": 1, "think_time_us": 0, "successes": null, "max_attempts": null, "rejected_pause_us": 1,
            "time_limit_us": 1, "seed": 0, "strategy": strategy,
        })
    }

    fn problems(round: &Value) -> Vec<String> {
        let problems = read(round.to_string().as_bytes(), MOST_USERS)
            .err()
            .unwrap_or_default();
        problems.into_iter().map(|problem| problem.path).collect()
    }

    /// The places of all objects in a value, as JSON pointers.
    fn objects(value: &Value, at: &str) -> Vec<String> {
        let Some(object) = value.as_object() else {
            return vec![];
        };
        let inside = object
            .iter()
            .flat_map(|(name, value)| objects(value, &format!("{at}/{name}")));
        std::iter::once(at.to_owned()).chain(inside).collect()
    }

    fn dotted(pointer: &str) -> String {
        pointer.trim_start_matches('/').replace('/', ".")
    }

    #[test]
    fn every_strategy_of_the_shared_vectors_is_read() {
        for strategy in strategies() {
            assert_eq!(problems(&round(&strategy)), [""; 0], "{strategy}");
        }
    }

    #[test]
    fn an_unknown_field_is_refused_wherever_it_stands() {
        for strategy in strategies() {
            let round = round(&strategy);
            for place in objects(&round, "")
                .iter()
                .filter(|place| !place.ends_with("headers"))
            {
                let mut wrong = round.clone();
                wrong.pointer_mut(place).unwrap()["surprise"] = json!(1);
                assert_eq!(
                    problems(&wrong),
                    [dotted(&format!("{place}/surprise"))],
                    "{wrong}"
                );
            }
        }
    }

    #[test]
    fn a_missing_field_is_named() {
        for strategy in strategies() {
            let round = round(&strategy);
            for place in objects(&round, "") {
                let names: Vec<String> = round
                    .pointer(&place)
                    .unwrap()
                    .as_object()
                    .unwrap()
                    .keys()
                    .cloned()
                    .collect();
                for name in names.iter().filter(|_| !place.ends_with("headers")) {
                    let mut wrong = round.clone();
                    wrong
                        .pointer_mut(&place)
                        .unwrap()
                        .as_object_mut()
                        .unwrap()
                        .remove(name);
                    // The one choice that was there is missed at the place of the choice.
                    let wanted = [dotted(&format!("{place}/{name}")), dotted(&place)];
                    let found = problems(&wrong);
                    assert!(
                        found.len() == 1 && wanted.contains(&found[0]),
                        "{found:?} for {wrong}"
                    );
                }
            }
        }
    }

    #[test]
    fn what_breaks_a_bound_of_the_schema_is_refused() {
        for (place, value) in [
            ("/contract", json!(2)),
            ("/target", json!("https://127.0.0.1:8080")),
            ("/target", json!("http://127.0.0.1:8080/path")),
            ("/target", json!("http://user@127.0.0.1:8080")),
            ("/target", json!("127.0.0.1:8080")),
            ("/request/method", json!("get")),
            ("/request/path", json!("bytes")),
            ("/request/path", json!("/a b")),
            ("/request/headers/x-a", json!(1)),
            ("/request/headers/x-a", json!("a\r\nb: c")),
            ("/request/body", json!({})),
            ("/request/timeout_us", json!(0)),
            ("/users", json!(0)),
            ("/users", json!(2001)),
            ("/users", json!(1.5)),
            ("/users", json!("1")),
            ("/think_time_us", json!(-1)),
            ("/successes", json!(0)),
            ("/max_attempts", json!(0)),
            ("/rejected_pause_us", json!(0)),
            ("/time_limit_us", json!(null)),
            ("/seed", json!(-1)),
        ] {
            let mut wrong = round(&json!({"baseline": {}}));
            *wrong.pointer_mut(place).unwrap() = value;
            assert_eq!(problems(&wrong), [dotted(place)], "{wrong}");
        }
    }

    #[test]
    fn a_whole_number_may_be_written_as_a_float() {
        let mut round = round(&json!({"baseline": {}}));
        round["users"] = json!(3.0);
        assert_eq!(read(round.to_string().as_bytes(), MOST_USERS).unwrap().users, 3);
    }

    #[test]
    fn a_breaker_that_could_never_open_is_refused() {
        let breaker = json!({"circuit_breaker": {
            "failure_rate": 50, "slow_call": null, "window": {"calls": 2}, "minimum_calls": 3,
            "open_for_us": 1, "half_open_calls": 1, "scope": "user",
        }});
        let problem = read(round(&breaker).to_string().as_bytes(), MOST_USERS)
            .unwrap_err()
            .remove(0);
        assert_eq!(problem.path, "strategy.circuit_breaker.minimum_calls");
        assert_eq!(problem.allowed, "a whole number from 1 to 2");
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            ".{0,8}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 16, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[a-z_]{1,8}", inner, 0..4).prop_map(Value::from_iter),
            ]
        })
    }

    proptest! {
        #[test]
        fn no_text_makes_the_reader_fail(text in prop::collection::vec(any::<u8>(), 0..64)) {
            prop_assert!(read(&text, MOST_USERS).is_err());
        }

        #[test]
        fn no_value_in_any_place_makes_the_reader_fail(which in any::<prop::sample::Index>(), value in any_json()) {
            for strategy in strategies() {
                let mut round = round(&strategy);
                let places = objects(&round, "");
                let place: &String = which.get(&places);
                *round.pointer_mut(place).unwrap() = value.clone();
                let _ = read(round.to_string().as_bytes(), MOST_USERS);
            }
        }
    }
}
