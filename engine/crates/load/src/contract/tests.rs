//! What rounds are read, and what is refused.

use super::read;
use proptest::prelude::*;
use serde_json::{Value, json};

const MOST_USERS: u64 = 2_000;

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
    assert_eq!(problems(&round), [""; 0]);
}

#[test]
fn a_breaker_that_could_never_open_is_refused() {
    let breaker = json!({"circuit_breaker": {
        "failure_rate": 50, "slow_call": null, "window": {"calls": 2}, "minimum_calls": 3,
        "open_for_us": 1, "half_open_calls": 1, "scope": "user",
    }});
    let refused = read(round(&breaker).to_string().as_bytes(), MOST_USERS);
    let problem = refused.err().unwrap().remove(0);
    assert_eq!(problem.path, "strategy.circuit_breaker.minimum_calls");
    assert_eq!(problem.allowed, "at most window.calls, 2");
}

#[test]
fn a_text_that_looks_like_a_template_is_sent_as_it_is() {
    let mut round = round(&json!({"baseline": {}}));
    round["request"]["path"] = json!("/${user}");
    round["request"]["body"] = json!("${nothing}");
    let round = read(round.to_string().as_bytes(), MOST_USERS).ok().unwrap();
    let job = round.into_job().ok().unwrap();
    let request = job.groups[0].journeys[0].steps[0].request.fixed(0).unwrap();
    let request = String::from_utf8(request.to_vec()).unwrap();
    assert!(request.starts_with("GET /${user} HTTP/1.1\r\n"), "{request}");
    assert!(request.ends_with("\r\n\r\n${nothing}"), "{request}");
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
