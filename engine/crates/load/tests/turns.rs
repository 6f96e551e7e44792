//! Users whose requests wait for their turn, calls that are repeated until they are as expected, and batches.
#![allow(missing_docs)]

mod common;

use common::simulated::{MS, Service, URL, simulate};
use common::{Server, job, ok, run, with, wrong_paths};
use patternbench_attemptlog::{Outcome, Row};
use serde_json::{Value, json};

fn paced(late: &str, until: Value) -> Value {
    json!({"closed": {"users": 1, "pace": {"every_us": 100_000, "late": late, "per": "request"}, "until": until}})
}

fn times(rows: &[Row]) -> Vec<(i64, i64)> {
    rows.iter()
        .map(|row| (row.intended_us / 1000, row.start_us / 1000))
        .collect()
}

#[test]
fn every_request_of_a_paced_user_waits_for_its_turn() {
    let steps = json!([{"name": "a"}, {"name": "b", "repeat": 2}]);
    let workload = paced("catch_up", json!({"calls": 5}));
    let (rows, _) = simulate(&job(URL, workload, steps), |_| Some((10 * MS, 200)));
    assert_eq!(
        times(&rows),
        [(0, 0), (100, 100), (200, 200), (300, 300), (400, 400)]
    );
}

#[test]
fn a_slow_answer_makes_the_next_request_late_and_the_wait_is_told_unless_the_schedule_moves() {
    let service: Service = |number| Some((if number == 0 { 250 * MS } else { 10 * MS }, 200));
    let told = |late: &str| {
        let job = job(
            URL,
            paced(late, json!({"calls": 4})),
            json!([{"name": "a"}, {"name": "b"}]),
        );
        times(&simulate(&job, service).0)
    };
    assert_eq!(told("catch_up"), [(0, 0), (100, 250), (200, 260), (300, 300)]);
    assert_eq!(told("shift"), [(0, 0), (250, 250), (350, 350), (450, 450)]);
}

#[test]
fn a_call_is_repeated_at_the_pace_until_its_answer_is_as_expected() {
    let steps = json!([
        {"name": "a", "expect": {"statuses": [200]}, "until_expected": {"limit_us": 1_000_000}},
        {"name": "b"},
    ]);
    let workload = paced("catch_up", json!({"calls": 2}));
    let (rows, finished) = simulate(&job(URL, workload, steps), |number| {
        Some((10 * MS, if number < 3 { 429 } else { 200 }))
    });
    assert_eq!(
        times(&rows),
        [(0, 0), (100, 100), (200, 200), (300, 300), (400, 400)]
    );
    let told: Vec<_> = rows
        .iter()
        .map(|row| (row.call, row.attempt, row.success, row.call_response_us))
        .collect();
    let wanted = [
        (0, 1, false, -1),
        (0, 2, false, -1),
        (0, 3, false, -1),
        (0, 4, true, 310_000),
        (1, 1, true, 10_000),
    ];
    assert_eq!(told, wanted, "the call ends with the first good answer");
    assert_eq!(finished.written.tally.counts().good_calls, 2);
}

#[test]
fn without_a_pace_a_call_is_repeated_after_its_pause_and_no_longer_than_its_limits_say() {
    let limited = |repeat: Value| {
        let steps = json!([{"name": "a", "timeout_us": 50_000, "until_expected": repeat}]);
        let workload = json!({"closed": {"users": 1, "until": {"calls": 1}}});
        let (rows, _) = simulate(&job(URL, workload, steps), |number| {
            (number % 2 == 0).then_some((10 * MS, 503))
        });
        rows.iter()
            .map(|row| (row.start_us / 1000, row.outcome))
            .collect::<Vec<_>>()
    };
    let (answered, timeout) = (Outcome::Answered, Outcome::Timeout);
    let wanted = [(0, answered), (40, timeout), (120, answered), (160, timeout)];
    assert_eq!(limited(json!({"every_us": 30_000, "limit_us": 200_000})), wanted);
    assert_eq!(
        limited(json!({"every_us": 30_000, "limit_us": 9_000_000, "attempts": 3})),
        wanted[..3]
    );
}

#[test]
fn a_call_without_a_pause_is_repeated_at_once_and_ends_at_its_limit() {
    let repeated = |service: Service| {
        let steps = json!([{"name": "a", "until_expected": {"every_us": 0, "limit_us": 100_000}}]);
        let workload = json!({"closed": {"users": 1, "until": {"calls": 1}}});
        simulate(&job(URL, workload, steps), service).0
    };
    let good = repeated(|number| Some((10 * MS, if number < 3 { 500 } else { 200 })));
    assert_eq!(times(&good), [(0, 0), (10, 10), (20, 20), (30, 30)]);
    assert_eq!((good[3].call_success, good[3].call_response_us), (true, 40_000));
    let never = repeated(|_| Some((10 * MS, 500)));
    assert_eq!((never.len(), never[10].start_us), (11, 100_000));
    assert!(!never[10].call_success);
}

#[test]
fn no_attempt_begins_after_the_end_of_the_load_and_its_call_has_failed() {
    let steps = json!([{"until_expected": {"limit_us": 60_000_000}}]);
    let endless = with(
        job(URL, paced("catch_up", Value::Null), steps),
        json!({"duration_us": 950_000}),
    );
    let (rows, _) = simulate(&endless, |_| Some((10 * MS, 429)));
    assert_eq!(
        (rows.len(), rows[9].start_us, rows[9].call_response_us),
        (10, 900_000, 910_000)
    );
    assert!(
        rows.iter()
            .all(|row| !row.call_success || row.call_response_us < 0)
    );
}

#[test]
fn policies_see_every_attempt_of_a_repeated_call_and_a_rejection_ends_it() {
    let breaker = json!([{"circuit_breaker": {"failure_rate": 100, "window": {"calls": 3}, "minimum_calls": 3,
        "open_for_us": 10_000_000, "half_open_calls": 1}}]);
    let steps = json!([{"until_expected": {"limit_us": 60_000_000}}]);
    let guarded = with(
        job(URL, paced("catch_up", json!({"calls": 1})), steps),
        json!({"policies": breaker}),
    );
    let (rows, _) = simulate(&guarded, |_| Some((10 * MS, 429)));
    assert_eq!(times(&rows), [(0, 0), (100, 100), (200, 200)]);
    let (rows, _) = simulate(&guarded, |number| {
        Some((10 * MS, if number < 2 { 429 } else { 200 }))
    });
    assert_eq!(
        (rows.len(), rows[2].call_success, rows[2].call_response_us),
        (3, true, 210_000)
    );
}

#[test]
fn a_user_goes_through_a_batch_as_often_as_it_is_asked_to_after_the_warm_up() {
    let steps = json!([{"name": "one", "repeat": 3}, {"name": "last"}]);
    let workload = json!({"closed": {"users": 2, "until": {"journeys_per_user": 2}}});
    let (rows, finished) = simulate(&job(URL, workload.clone(), steps.clone()), |_| {
        Some((10 * MS, 200))
    });
    assert_eq!((rows.len(), finished.totals.journeys()), (16, 4));
    let warm = with(
        job(URL, workload, steps),
        json!({"warm_up_us": 45_000, "duration_us": 60_000_000}),
    );
    let (rows, finished) = simulate(&warm, |_| Some((10 * MS, 200)));
    assert_eq!(
        (rows.len(), finished.totals.journeys()),
        (32, 4),
        "the journeys that began in the warm-up do not count: one of them ends after it"
    );
}

#[test]
fn a_journey_that_stops_at_a_failure_has_ended() {
    let steps = json!([{"name": "a"}, {"name": "b"}]);
    let workload = json!({"closed": {"users": 1, "until": {"journeys_per_user": 3}}});
    let (rows, finished) = simulate(&job(URL, workload, steps), |number| {
        Some((MS, if number == 0 { 500 } else { 200 }))
    });
    assert_eq!((rows.len(), finished.totals.journeys()), (5, 3));
}

#[test]
fn a_group_that_takes_new_connections_keeps_none() {
    let server = Server::start(|_| ok(""));
    let workload = json!({"closed": {"users": 2, "until": {"calls_per_user": 5}}});
    let mut job = job(&server.url(), workload, json!([{}]));
    assert_eq!(run(&job).summary["generator"]["connections"], 2);
    job["groups"][0]["connection"] = json!("new");
    let summary = run(&job).summary;
    assert_eq!(
        (&summary["generator"]["connections"], &summary["successes"]),
        (&json!(10), &json!(10))
    );
}

#[test]
fn what_does_not_go_with_turns_is_told() {
    let steps = json!([{"pause_us": 5}, {"until_expected": {"limit_us": 1}, "poll": {"every_us": 1, "limit_us": 1, "until": {}}}]);
    let found = wrong_paths(&job(
        URL,
        paced("catch_up", json!({"journeys_per_user": 0})),
        steps,
    ));
    let group = "groups[0]";
    let wanted = [
        format!("{group}.journeys[0].steps[1].until_expected"),
        format!("{group}.workload.closed.until.journeys_per_user"),
    ];
    assert!(wanted.iter().all(|path| found.contains(path)), "{found:?}");
    let steps = json!([{"pause_us": 5}]);
    assert_eq!(
        wrong_paths(&job(URL, paced("shift", Value::Null), steps))[0],
        group
    );
}
