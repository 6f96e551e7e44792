//! A load that several generators make: together they do what one would, and what can't be split is refused.
#![allow(missing_docs)]

mod common;

use common::simulated::{MS, Seen, Service, URL, simulate_seen};
use common::{job, try_run, with};
use patternbench_attemptlog::{Outcome, Row};
use patternbench_load::CommandError;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

const QUICK: Service = |_| Some((2 * MS, 200));
/// Longer than any schedule of these tests.
const LONG_US: u64 = 3_600_000_000;

/// A file with lines to feed from, which lives as long as the folder.
fn names(folder: &Path, lines: usize) -> String {
    let text: String = (0..lines).map(|line| format!("n{line}\n")).collect();
    let file = folder.join("names.csv");
    std::fs::write(&file, format!("name\n{text}")).unwrap();
    file.to_string_lossy().into_owned()
}

fn of_part(job: &Value, index: u32, of: u32) -> Value {
    with(job.clone(), json!({"part": {"index": index, "of": of}}))
}

/// The rows and requests of all parts, as one list each.
fn together(job: &Value, of: u32) -> (Vec<Row>, Vec<(String, String)>) {
    let (mut rows, mut requests) = (Vec::new(), Vec::new());
    for index in 0..of {
        let seen = Seen::default();
        rows.extend(simulate_seen(&of_part(job, index, of), QUICK, seen.clone()).0);
        requests.append(&mut seen.lock().unwrap());
    }
    requests.sort_unstable();
    (rows, requests)
}

fn whole(job: &Value) -> (Vec<Row>, Vec<(String, String)>) {
    let seen = Seen::default();
    let rows = simulate_seen(job, QUICK, seen.clone()).0;
    let mut requests = std::mem::take(&mut *seen.lock().unwrap());
    requests.sort_unstable();
    (rows, requests)
}

/// Rows by call, in an order that doesn't depend on who made them.
fn in_order(mut rows: Vec<Row>) -> Vec<Row> {
    rows.sort_by_key(|row| (row.group, row.user, row.call, row.attempt));
    rows
}

fn schedules() -> impl Strategy<Value = Value> {
    prop_oneof![
        (1.0f64..300.0).prop_map(|rate| json!({"constant": {"rate": rate}})),
        (0.0f64..100.0, 1.0f64..300.0)
            .prop_map(|(from, to)| json!({"ramp": {"from": from, "to": to, "over_us": 500_000}})),
        (1.0f64..200.0)
            .prop_map(|mean| json!({"sine": {"mean": mean, "amplitude": mean / 2.0, "period_us": 300_000}})),
        (0.0f64..100.0, 1.0f64..500.0).prop_map(
            |(base, peak)| json!({"spike": {"base": base, "peak": peak, "at_us": 200_000, "for_us": 100_000}})
        ),
    ]
}

/// Two kinds of journeys of one request, which tell their line of the feeder, their user and a counter.
fn journeys(weights: (u32, u32)) -> Value {
    let path =
        |kind: &str| format!("/{kind}/${{feed.name}}/${{user}}/${{call}}/${{counter:all}}/${{cycle:1-7}}");
    json!([
        {"weight": weights.0, "steps": [{"name": "a", "path": path("a")}]},
        {"weight": weights.1, "steps": [{"name": "b", "path": path("b")}]},
    ])
}

fn fed(job: Value, file: &str, order: &str, journeys: Value) -> Value {
    let mut job = with(job, json!({"log_journeys": true, "warm_up_us": 100_000}));
    job["groups"][0]["feeder"] = json!({"file": file, "order": order});
    job["groups"][0]["journeys"] = journeys;
    job["targets"] = json!([{"url": URL, "weight": 2}, {"url": "http://127.0.0.1:2", "weight": 1}]);
    job
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn arrivals_of_all_parts_are_those_of_the_whole_with_their_users_lines_journeys_and_targets(
        schedule in schedules(), poisson in any::<bool>(), seed in any::<u32>(), of in 1u32..9, users in 1u32..7,
        lines in 1usize..20, random in any::<bool>(), weights in (1u32..5, 0u32..5), calls in prop_oneof![Just(None), (1u64..40).prop_map(Some)],
    ) {
        let folder = tempfile::tempdir().unwrap();
        let spacing = if poisson { "poisson" } else { "regular" };
        let open = json!({"schedule": schedule, "spacing": spacing, "users": users, "max_in_flight": 9000, "calls": calls});
        let job = with(job(URL, json!({"open": open}), json!([{}])), json!({"duration_us": 900_000, "seed": seed}));
        let order = if random { "random" } else { "sequential" };
        let job = fed(job, &names(folder.path(), lines), order, journeys(weights));
        let ((rows, requests), (union, sent)) = (whole(&job), together(&job, of));
        prop_assert_eq!(in_order(union), in_order(rows));
        prop_assert_eq!(sent, requests);
    }

    #[test]
    fn arrivals_of_a_trace_keep_their_users_and_steps_whoever_makes_them(
        gaps in proptest::collection::vec((0u64..50_000, 0u32..4, 0usize..3), 1..60), of in 1u32..9, lines in 1usize..20,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let mut at = 0;
        let recorded = gaps.iter().map(|(gap, user, step)| {
            at += gap;
            format!("{at},{user},{}\n", ["a", "b", "c"][*step])
        });
        let file = folder.path().join("trace.csv");
        std::fs::write(&file, format!("at_us,user,step\n{}", recorded.collect::<String>())).unwrap();
        let open = json!({"open": {"schedule": {"trace": {"file": file}}, "max_in_flight": 9000}});
        // No journey begins with c, so that arrivals with this step take the journey whose turn it is.
        let mut journeys = journeys((2, 1));
        journeys[0]["steps"].as_array_mut().unwrap().push(json!({"name": "c", "path": "/c"}));
        let job = fed(job(URL, open, json!([{}])), &names(folder.path(), lines), "sequential", journeys);
        let ((rows, requests), (union, sent)) = (whole(&job), together(&job, of));
        prop_assert_eq!(sent.len(), requests.len());
        // Which call of a user comes first, the second of one journey or the first of another, is a matter of time.
        let of_times = |rows: Vec<Row>| {
            let mut list: Vec<_> = rows.iter().map(|row| (row.intended_us, row.user, row.step, row.start_us, row.end_us)).collect();
            list.sort_unstable();
            list
        };
        let calls: BTreeMap<_, _> = union.iter().map(|row| ((row.user, row.call), row.journey)).collect();
        prop_assert_eq!(calls.len(), union.len(), "no two calls of a user have one number");
        prop_assert_eq!(of_times(union), of_times(rows));
    }

    #[test]
    fn closed_users_of_all_parts_begin_when_those_of_the_whole_do_with_the_same_lines(
        users in 1u32..30, of in 1u32..9, lines in 1usize..50, start_over in 0u64..300_000, journeys_each in 1u64..6,
        random in any::<bool>(), weights in (1u32..5, 0u32..5),
    ) {
        prop_assume!(users >= of);
        let folder = tempfile::tempdir().unwrap();
        let closed = json!({"closed": {
            "users": users, "pace": {"every_us": 500_000}, "start_over_us": start_over,
            "until": {"journeys_per_user": journeys_each},
        }});
        let order = if random { "random" } else { "sequential" };
        let paths = |kind: &str| json!({"name": kind, "path": format!("/{kind}/${{feed.name}}/${{user}}/${{call}}")});
        let both = json!([
            {"weight": weights.0, "steps": [paths("a")]}, {"weight": weights.1, "steps": [paths("b")]},
        ]);
        let job = fed(job(URL, closed, json!([{}])), &names(folder.path(), lines), order, both);
        let job = with(job, json!({"warm_up_us": 0, "duration_us": LONG_US, "targets": [{"url": URL}]}));
        let ((rows, requests), (union, sent)) = (whole(&job), together(&job, of));
        prop_assert_eq!(sent, requests);
        let plain = |rows: Vec<Row>| -> Vec<_> {
            in_order(rows).iter().map(|row| (row.intended_us, row.start_us, row.user, row.call, row.step)).collect()
        };
        prop_assert_eq!(plain(union), plain(rows));
    }
}

#[test]
fn journeys_and_calls_of_several_steps_have_numbers_of_their_own_in_all_parts() {
    let steps = json!([{"name": "a", "path": "/a", "repeat": 2}, {"name": "b", "path": "/b"}]);
    for workload in [
        json!({"open": {"schedule": {"constant": {"rate": 100}}, "users": 3, "calls": 50}}),
        json!({"closed": {"users": 7, "think_us": 1_000, "until": {"journeys_per_user": 5}}}),
    ] {
        let job = with(job(URL, workload, steps.clone()), json!({"duration_us": LONG_US}));
        let (rows, _) = together(&job, 4);
        let (alone, _) = whole(&job);
        let calls: BTreeMap<_, _> = rows
            .iter()
            .map(|row| ((row.user, row.call), row.journey))
            .collect();
        let mut journeys: Vec<u32> = calls.values().copied().collect();
        journeys.sort_unstable();
        journeys.dedup();
        assert_eq!((rows.len(), calls.len()), (alone.len(), alone.len()));
        assert_eq!(journeys.len() * 3, rows.len());
    }
}

#[test]
fn what_all_may_do_together_is_divided_without_a_rest() {
    let closed = json!({"closed": {"users": 10, "think_us": 1_000, "until": {"calls": 101}}});
    let job = with(job(URL, closed, json!([{}])), json!({"duration_us": LONG_US}));
    assert_eq!(together(&job, 4).0.len(), 101);
    // Nothing is answered while arrivals come, so that as many are sent as may be in flight.
    let slow: Service = |_| Some((1000 * MS, 200));
    let open =
        json!({"open": {"schedule": {"constant": {"rate": 10_000}}, "calls": 50, "max_in_flight": 10}});
    let job = with(
        common::job(URL, open, json!([{}])),
        json!({"duration_us": LONG_US}),
    );
    let sent = (0..3).map(|index| {
        let (rows, _) = simulate_seen(&of_part(&job, index, 3), slow, Seen::default());
        rows.iter().filter(|row| row.outcome != Outcome::Dropped).count()
    });
    assert_eq!(sent.collect::<Vec<_>>(), [4, 3, 3]);
}

#[test]
fn no_two_parts_draw_the_same_random_values_or_jitter() {
    let open = json!({"open": {"schedule": {"constant": {"rate": 1_000}}, "calls": 400}});
    let job = with(
        job(URL, open, json!([{"path": "/${uuid}"}])),
        json!({"duration_us": LONG_US}),
    );
    let (_, mut requests) = together(&job, 4);
    requests.dedup();
    assert_eq!(requests.len(), 400);
    let failing: Service = |_| Some((MS, 503));
    let retries = json!([{"retry": {"max_attempts": 2, "backoff": {"fixed": {"delay_us": 1_000_000}}, "jitter": "full"}}]);
    let job = with(job, json!({"policies": retries}));
    let pauses = |index| -> Vec<i64> {
        let (rows, _) = simulate_seen(&of_part(&job, index, 2), failing, Seen::default());
        let second = in_order(rows).into_iter().filter(|row| row.attempt == 2);
        second
            .map(|row| row.start_us - i64::from(row.call) * 1000)
            .collect()
    };
    assert_eq!(pauses(0).len(), 200);
    assert_ne!(pauses(0), pauses(1));
}

/// Where a job is refused, and with which words.
fn refusals(job: &Value, of: u32) -> Vec<(String, String)> {
    match try_run(&of_part(job, 0, of)).err() {
        Some(CommandError::Problems(problems)) => problems
            .into_iter()
            .map(|problem| (problem.path, problem.message + "; " + &problem.allowed))
            .collect(),
        other => panic!("the job is not refused: {other:?}"),
    }
}

#[test]
fn each_policy_whose_state_all_users_share_is_refused_by_name_with_what_to_write_instead() {
    let closed = json!({"closed": {"users": 9, "until": {"calls": 9}}});
    let retry = json!({"retry": {"max_attempts": 2, "backoff": {"fixed": {"delay_us": 1}}}});
    for (name, mut config) in [
        ("retry_budget", json!({"ratio": 0.2, "capacity": 10})),
        (
            "circuit_breaker",
            json!({"failure_rate": 50, "window": {"calls": 10}, "minimum_calls": 5, "open_for_us": 1, "half_open_calls": 1}),
        ),
        ("bulkhead", json!({"max_concurrent": 5})),
        ("rate_limit", json!({"calls": 5, "per_us": 1_000_000})),
    ] {
        let stack = |config: &Value| json!([retry, {name: config}, {"timeout": {"after_us": 5}}]);
        let shared = with(
            job(URL, closed.clone(), json!([{}])),
            json!({"policies": stack(&config)}),
        );
        let why = format!(
            "all users share one {name}, and each of 3 generators would have one of its own; scope: user, or one generator"
        );
        assert_eq!(refusals(&shared, 3), [(format!("policies[1].{name}.scope"), why)]);
        config["scope"] = json!("user");
        let own = with(
            job(URL, closed.clone(), json!([{}])),
            json!({"policies": stack(&config)}),
        );
        let (rows, _) = simulate_seen(&of_part(&own, 0, 3), QUICK, Seen::default());
        assert!(!rows.is_empty(), "{name}");
    }
}

#[test]
fn a_policy_that_remembers_a_user_is_refused_where_its_arrivals_come_from_several_generators() {
    let limit = json!({"policies": [{"rate_limit": {"calls": 5, "per_us": 1_000_000, "scope": "user"}}], "duration_us": 1_000_000});
    let of_users = |users: u32| {
        let open = json!({"open": {"schedule": {"constant": {"rate": 60}}, "users": users}});
        with(job(URL, open, json!([{}])), limit.clone())
    };
    let (path, why) = refusals(&of_users(7), 3).pop().unwrap();
    assert_eq!(path, "groups[0].workload.open.users");
    assert!(
        why.contains("rate_limit of its own") && why.contains("a multiple of 3 users"),
        "{why}"
    );
    // With a multiple each user's arrivals come from one generator, and so each user is limited as without the split.
    let rejected = |rows: &[Row]| rows.iter().filter(|row| row.outcome == Outcome::Rejected).count();
    let (union, alone) = (together(&of_users(6), 3).0, whole(&of_users(6)).0);
    assert_eq!(in_order(union.clone()), in_order(alone));
    assert!(rejected(&union) > 0);
}

#[test]
fn a_warm_up_that_answers_end_and_a_part_that_is_none_are_refused() {
    let closed = || json!({"closed": {"users": 9, "until": {"calls": 9}}});
    for field in ["warm_up_requests", "warm_up_settled"] {
        let value = if field == "warm_up_requests" {
            json!(5)
        } else {
            json!(true)
        };
        let job = with(
            job(URL, closed(), json!([{}])),
            json!({"warm_up_us": 1_000, field: value}),
        );
        assert_eq!(refusals(&job, 2)[0].0, field);
    }
    let job = job(URL, closed(), json!([{}]));
    assert_eq!(refusals(&job, 10)[0].0, "groups[0].workload.closed.users");
    assert_eq!(common::wrong_paths(&of_part(&job, 3, 3)), ["part.index"]);
    assert_eq!(common::wrong_paths(&of_part(&job, 0, 0)), ["part.of"]);
    let open = json!({"open": {"schedule": {"constant": {"rate": 60}}, "max_in_flight": 2}});
    let job = with(
        common::job(URL, open, json!([{}])),
        json!({"duration_us": 1_000_000}),
    );
    assert_eq!(refusals(&job, 3)[0].0, "groups[0].workload.open.max_in_flight");
}
