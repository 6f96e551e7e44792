//! The attempts of whole jobs in simulated time, byte for byte as they were recorded.
//!
//! A change of how the engine is built changes none of them. `UPDATE_GOLDEN=1` records them again, which is right only
//! where the load itself is meant to change.
#![allow(missing_docs)]

mod common;

use common::simulated::{MS, Service, URL, simulate};
use common::{job, with};
use patternbench_attemptlog::Row;
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::Path;

/// Answers of changing times and statuses, and now and then none.
const SERVICE: Service = |number| match number % 41 {
    40 => None,
    _ => Some((
        MS * (1 + number * 7 % 31),
        if number % 3 == 0 { 503 } else { 200 },
    )),
};

fn policies() -> Value {
    json!([
        {"retry": {"max_attempts": 3, "backoff": {"exponential": {"initial_us": 5_000, "multiplier": 2}}, "jitter": "full"}},
        {"retry_budget": {"ratio": 0.5, "min_per_s": 2, "capacity": 5}},
        {"circuit_breaker": {"failure_rate": 60, "window": {"calls": 10}, "minimum_calls": 5, "open_for_us": 80_000, "half_open_calls": 2}},
        {"bulkhead": {"max_concurrent": 6, "max_waiting": 1}},
        {"hedge": {"max_attempts": 2, "delay_us": 15_000}},
        {"timeout": {"after_us": 60_000}},
    ])
}

/// Closed users with journeys, pauses, repeated steps and two targets.
fn journeys() -> Value {
    let steps = json!([
        {"name": "a", "path": "/a", "timeout_us": 100_000},
        {"name": "b", "path": "/b/${random:1-9}", "repeat": 2, "pause_us": 700, "timeout_us": 100_000},
    ]);
    let closed = json!({"closed": {"users": 4, "think_us": 3_000, "start_over_us": 20_000, "until": {"journeys_per_user": 15}}});
    let targets = json!([{"url": URL, "weight": 2}, {"url": "http://127.0.0.1:2", "weight": 1}]);
    with(
        job(URL, closed, steps),
        json!({"targets": targets, "warm_up_us": 100_000}),
    )
}

/// Arrivals at random, guarded by a stack of policies, more of them than may be in flight.
fn arrivals() -> Value {
    let open = json!({"open": {"schedule": {"ramp": {"from": 50, "to": 300, "over_us": 500_000}}, "spacing": "poisson", "users": 5, "max_in_flight": 4}});
    with(
        job(URL, open, json!([{"timeout_us": 100_000}])),
        json!({"policies": policies(), "duration_us": 700_000, "warm_up_us": 100_000}),
    )
}

/// Two groups at once: a pace that is caught up with, and users who end after a number of attempts.
fn groups() -> Value {
    let paced = json!({"closed": {"users": 3, "pace": {"every_us": 20_000}}});
    let limited =
        json!({"closed": {"users": 2, "until": {"successes_per_user": 200}, "attempts_per_user": 25}});
    let mut both = with(
        job(URL, paced, json!([{"timeout_us": 100_000}])),
        json!({"duration_us": 800_000, "warm_up_us": 500_000, "warm_up_requests": 10}),
    );
    let group = json!({"name": "limited", "workload": limited, "journeys": [{"steps": [{"name": "c", "timeout_us": 100_000}]}], "affinity": "user"});
    both["groups"].as_array_mut().unwrap().push(group);
    both
}

/// A row with all its values and without the names of its fields.
fn line(row: &Row) -> String {
    let text = format!("{row:?}");
    let fields = text.trim_start_matches("Row { ").trim_end_matches(" }");
    let values = fields.split(", ").map(|field| field.split_once(": ").unwrap().1);
    values.collect::<Vec<_>>().join(" ")
}

fn recorded(name: &str, job: &Value) {
    let (rows, finished) = simulate(job, SERVICE);
    assert!(rows.len() > 100, "{}", rows.len());
    let mut log = format!(
        "warm-up {:?}, elapsed {:?}, journeys {}\n",
        finished.warm_up,
        finished.elapsed,
        finished.totals.journeys()
    );
    for row in &rows {
        writeln!(log, "{}", line(row)).unwrap();
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/recorded/{name}.txt"));
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&file, &log).unwrap();
    }
    let before = std::fs::read_to_string(&file).unwrap();
    let other = log.lines().zip(before.lines()).find(|(now, then)| now != then);
    assert_eq!(other, None, "{name}");
    assert_eq!(log, before, "{name}");
}

#[test]
fn journeys_of_closed_users_are_those_that_were_recorded() {
    recorded("journeys", &journeys());
}

#[test]
fn arrivals_through_policies_are_those_that_were_recorded() {
    recorded("arrivals", &arrivals());
}

#[test]
fn groups_side_by_side_are_those_that_were_recorded() {
    recorded("groups", &groups());
}
