//! The worked examples that every client is held to.

use patternbench_policies::backoff::Backoff;
use patternbench_policies::breaker::{Admission, Breaker, Config, SlowCall, Window};
use serde_json::Value;

fn cases(file: &str) -> Vec<Value> {
    let path = format!(
        "{}/../../../contracts/client/vectors/{file}",
        env!("CARGO_MANIFEST_DIR")
    );
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
    let cases: Value = serde_json::from_str(&text).unwrap();
    cases["cases"].as_array().unwrap().clone()
}

fn backoff(of: &Value) -> Backoff {
    let (kind, fields) = of.as_object().unwrap().iter().next().unwrap();
    let max_us = fields["max_us"].as_u64();
    match kind.as_str() {
        "fixed" => Backoff::Fixed {
            delay_us: fields["delay_us"].as_u64().unwrap(),
        },
        "linear" => Backoff::Linear {
            initial_us: fields["initial_us"].as_u64().unwrap(),
            increment_us: fields["increment_us"].as_u64().unwrap(),
            max_us,
        },
        "exponential" => Backoff::Exponential {
            initial_us: fields["initial_us"].as_u64().unwrap(),
            multiplier: fields["multiplier"].as_f64().unwrap(),
            max_us,
        },
        other => panic!("a kind of back-off that this test does not know: {other}"),
    }
}

fn breaker(of: &Value) -> Breaker {
    let window = match of["window"]["calls"].as_u64() {
        Some(calls) => Window::Calls(calls as u32),
        None => Window::TimeUs(of["window"]["time_us"].as_u64().unwrap()),
    };
    let slow_call = of["slow_call"].as_object().map(|slow| SlowCall {
        rate: slow["rate"].as_f64().unwrap(),
        duration_us: slow["duration_us"].as_u64().unwrap(),
    });
    Breaker::new(Config {
        failure_rate: of["failure_rate"].as_f64().unwrap(),
        slow_call,
        window,
        minimum_calls: of["minimum_calls"].as_u64().unwrap() as u32,
        open_for_us: of["open_for_us"].as_u64().unwrap(),
        half_open_calls: of["half_open_calls"].as_u64().unwrap() as u32,
    })
}

#[test]
fn back_off_follows_the_shared_vectors() {
    let cases = cases("backoff.json");
    assert!(!cases.is_empty());
    for case in cases {
        let backoff = backoff(&case["backoff"]);
        let wanted: Vec<u64> = case["delays_us"]
            .as_array()
            .unwrap()
            .iter()
            .map(|d| d.as_u64().unwrap())
            .collect();
        let found: Vec<u64> = (1..=wanted.len() as u32).map(|k| backoff.delay_us(k)).collect();
        assert_eq!(found, wanted, "{}", case["name"]);
    }
}

#[test]
fn the_breaker_follows_the_shared_vectors() {
    let cases = cases("breaker.json");
    assert!(!cases.is_empty());
    for case in cases {
        let mut breaker = breaker(&case["circuit_breaker"]);
        for (place, step) in case["steps"].as_array().unwrap().iter().enumerate() {
            let at_us = step["at_us"].as_u64().unwrap();
            let duration_us = step["duration_us"].as_u64().unwrap();
            let admission = breaker.admit(at_us);
            let wanted = step["admitted"].as_bool().unwrap();
            assert_eq!(
                admission != Admission::Rejected,
                wanted,
                "{}, step {place}",
                case["name"]
            );
            if let Admission::Admitted(ticket) = admission {
                breaker.record(
                    ticket,
                    at_us + duration_us,
                    duration_us,
                    step["success"].as_bool().unwrap(),
                );
            }
        }
    }
}
