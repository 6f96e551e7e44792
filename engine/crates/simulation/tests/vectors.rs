//! The worked examples that every client is held to, in simulated time: decided by the load at the edge, and by a
//! service for the calls that it makes.
#![allow(missing_docs)]

mod common;

use common::{ends, jobs, simulated};
use patternbench_attemptlog::{Outcome, Row};
use serde_json::{Value, json};
use std::fmt::Write;

fn cases(file: &str) -> Vec<Value> {
    let path = format!(
        "{}/../../../contracts/client/vectors/{file}",
        env!("CARGO_MANIFEST_DIR")
    );
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let cases: Value = serde_json::from_str(&text).expect("JSON");
    let cases = cases["cases"].as_array().expect("a list").clone();
    assert!(!cases.is_empty());
    cases
}

/// The service that takes no time itself, with faults on the link to it.
fn alone(faults: &Value) -> Value {
    json!({"model": 1, "entry": "a", "services": {"a": at_once()}, "faults": faults})
}

/// The same behind a shop, which calls it through policies; the same faults are on that link.
fn behind_a_shop(faults: &Value, policies: &Value) -> Value {
    let mut shop = at_once();
    shop["calls"] = json!([[{"to": "a", "policies": policies}]]);
    let mut moved = faults.clone();
    for fault in moved.as_array_mut().expect("a list") {
        fault["from"] = json!("shop");
        fault["at"] = json!("a");
    }
    json!({"model": 1, "entry": "shop", "services": {"a": at_once(), "shop": shop}, "faults": moved})
}

fn at_once() -> Value {
    json!({"workers": 100_000, "times": {"fixed_us": 0}})
}

/// The load's rows where its policies decide, and where the shop's do.
fn by_both(faults: &Value, policies: &Value, job: &Value) -> [Vec<Row>; 2] {
    let mut guarded = job.clone();
    guarded["policies"] = policies.clone();
    let behind = behind_a_shop(faults, policies).to_string();
    [
        simulated(&guarded, &alone(faults).to_string(), 1),
        simulated(job, &behind, 1),
    ]
}

fn always(kind: Value) -> Value {
    json!([{"kind": kind, "from_us": 0, "to_us": 1_000_000_000_000_i64}])
}

fn one_call() -> Value {
    let closed = json!({"closed": {"users": 1, "until": {"calls": 1}}});
    jobs::of(closed, json!([]), 1, json!({"duration_us": 60_000_000}))
}

#[test]
fn back_off_follows_the_shared_vectors() {
    let fails = always(json!({"abort": {"percentage": 100, "status": 503}}));
    for case in cases("backoff.json") {
        let delays: Vec<i64> = serde_json::from_value(case["delays_us"].clone()).expect("numbers");
        let mut passed = 0;
        for (number, delay) in delays.iter().enumerate() {
            passed += delay;
            let retry = json!([{"retry": {"max_attempts": number + 2, "backoff": case["backoff"]}}]);
            let [by_load, by_shop] = by_both(&fails, &retry, &one_call());
            assert_eq!(by_load.len(), number + 2, "{}", case["name"]);
            assert_eq!(by_load[number + 1].start_us, passed, "{}", case["name"]);
            assert_eq!(by_shop[0].end_us, passed, "{}", case["name"]);
        }
    }
}

/// A fault that makes the request of a step take as long as it says.
fn lasting(step: &Value) -> Value {
    let (at, duration) = (&step["at_us"], &step["duration_us"]);
    let kind = json!({"delay": {"percentage": 100, "duration_us": duration}});
    json!({"kind": kind, "from_us": at, "to_us": at.as_i64().expect("a number") + 1})
}

/// The faults that make the requests of a case end as its steps say, and a trace of its arrivals.
fn scripted(steps: &[Value]) -> (Value, String) {
    let (mut faults, mut trace) = (Vec::new(), "at_us\n".to_owned());
    for step in steps {
        let lasts = lasting(step);
        if step["success"] == json!(false) {
            let mut fails = lasts.clone();
            fails["kind"] = json!({"reset": {"percentage": 100}});
            faults.push(fails);
        }
        faults.push(lasts);
        writeln!(trace, "{}", step["at_us"]).expect("a text");
    }
    (json!(faults), trace)
}

#[test]
fn the_breaker_follows_the_shared_vectors() {
    let folder = tempfile::tempdir().expect("a folder");
    for case in cases("breaker.json") {
        let steps = case["steps"].as_array().expect("a list");
        let (faults, trace) = scripted(steps);
        let file = folder.path().join("arrivals.csv");
        std::fs::write(&file, trace).expect("a file");
        let open = json!({"open": {"schedule": {"trace": {"file": file}}, "max_in_flight": 1000}});
        let job = jobs::of(open, json!([]), 1, json!({"duration_us": 100_000_000}));
        let policies = json!([{"circuit_breaker": case["circuit_breaker"]}]);
        let [by_load, by_shop] = by_both(&faults, &policies, &job);
        assert_eq!((by_load.len(), by_shop.len()), (steps.len(), steps.len()));
        for (place, step) in steps.iter().enumerate() {
            let (mine, theirs) = (&by_load[place], &by_shop[place]);
            let lasts = if step["admitted"] == json!(true) {
                &step["duration_us"]
            } else {
                &json!(0)
            };
            let about = format!("{}, step {place}", case["name"]);
            assert_eq!(
                json!(mine.outcome != Outcome::Rejected),
                step["admitted"],
                "{about}"
            );
            assert_eq!(&json!(theirs.end_us - theirs.start_us), lasts, "{about}");
            if step["admitted"] == json!(true) {
                assert_ne!(step["duration_us"], json!(0), "a rejection would look alike");
                assert_eq!(
                    (json!(mine.success), json!(theirs.success)),
                    (step["success"].clone(), step["success"].clone())
                );
            }
        }
    }
}

#[test]
fn stacks_that_are_known_elsewhere_decide_alike_at_the_edge_and_inside() {
    let faults = json!([
        {"kind": {"abort": {"percentage": 30, "status": 503}}, "from_us": 0, "to_us": 20_000_000},
        {"kind": {"stall": {"percentage": 40}}, "from_us": 20_000_000, "to_us": 60_000_000},
        {"kind": {"delay": {"percentage": 50, "duration_us": 12_000_000}}, "from_us": 60_000_000, "to_us": 90_000_000},
    ]);
    for case in cases("standard_handler.json") {
        // By chance, so that two moments are never equal and it does not matter who comes first.
        let open = json!({"open": {"schedule": {"constant": {"rate": 20}}, "spacing": "poisson", "max_in_flight": 10_000}});
        let times = json!({"duration_us": 120_000_000, "drain_us": 60_000_000});
        let job = jobs::of(open, json!([]), 1, times);
        let [by_load, by_shop] = by_both(&faults, &case["stack"], &job).map(|rows| ends(&rows));
        assert!(by_load.len() > 2_000);
        // A call that is rejected after a pause ends with its last attempt in the log, and with the rejection inside.
        let seen = |ends: &[(i64, i64, bool)]| -> Vec<(i64, Option<i64>)> {
            ends.iter()
                .map(|(began, end, good)| (*began, good.then_some(*end)))
                .collect()
        };
        assert_eq!(seen(&by_load), seen(&by_shop), "{}", case["name"]);
        let good = by_load.iter().filter(|(.., good)| *good).count();
        assert!(
            (500..2_000).contains(&good),
            "{good}: its policies had something to decide"
        );
    }
}
