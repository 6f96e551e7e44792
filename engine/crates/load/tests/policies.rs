//! Policies at the client, against servers that follow a script.
#![allow(
    missing_docs,
    clippy::disallowed_methods,
    reason = "tests run outside the runtime that they test"
)]

mod common;

use common::simulated::{self, URL, simulate};
use common::{Outcome, Reply, Seen, Server, after, job, ok, run, status, with, wrong_paths};
use patternbench_attemptlog as attemptlog;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const MS: i64 = 1_000;

fn calls(users: u32, each: u32) -> Value {
    json!({"closed": {"users": users, "until": {"calls_per_user": each}}})
}

fn guarded(server: &Server, workload: Value, policies: Value) -> Value {
    let steps = json!([{"path": "/", "timeout_us": 5_000_000}]);
    with(job(&server.url(), workload, steps), json!({"policies": policies}))
}

fn retry(max_attempts: u32, delay_us: u64) -> Value {
    json!({"retry": {"max_attempts": max_attempts, "backoff": {"fixed": {"delay_us": delay_us}}}})
}

fn breaker(calls: u32, open_for_us: u64) -> Value {
    json!({"circuit_breaker": {"failure_rate": 100, "window": {"calls": calls}, "minimum_calls": calls, "open_for_us": open_for_us, "half_open_calls": 1}})
}

/// A server whose first `times` answers say that it is busy.
fn busy_at_first(times: u64, headers: String) -> Server {
    Server::start(move |seen| {
        if seen.number < times {
            status(503, &headers, "")
        } else {
            ok("fine")
        }
    })
}

fn busy() -> Server {
    Server::start(|_| status(503, "", ""))
}

/// What became of each row, as attempt and outcome.
fn story(outcome: &Outcome) -> Vec<(u16, &str)> {
    let rows = outcome.attempts.iter();
    rows.map(|row| (row.attempt, row.outcome.as_str())).collect()
}

fn acted(outcome: &Outcome) -> Vec<u64> {
    let policies = outcome.summary["policies"].as_array().unwrap();
    policies
        .iter()
        .map(|entry| entry["acted"].as_u64().unwrap())
        .collect()
}

#[test]
fn a_retry_comes_back_until_it_goes_well() {
    let server = busy_at_first(2, String::new());
    let outcome = run(&guarded(&server, calls(1, 1), json!([retry(5, 20_000)])));
    assert_eq!(
        story(&outcome),
        [(1, "answered"), (2, "answered"), (3, "answered")]
    );
    let rows = &outcome.attempts;
    assert!(
        rows.windows(2)
            .all(|pair| pair[1].start_us - pair[0].end_us >= 20 * MS - 1)
    );
    assert!(rows.iter().all(|row| row.call == 0));
    assert_eq!(
        (
            &outcome.summary["calls"],
            &outcome.summary["successes"],
            &outcome.summary["requests"]
        ),
        (&json!(1), &json!(1), &json!(3))
    );
    assert_eq!(acted(&outcome), [2]);
    let response = outcome.summary["response_ms"]["max"].as_f64().unwrap();
    assert!(response >= 40.0, "the pauses belong to the call: {response}");
}

#[test]
fn a_retry_that_never_goes_well_is_one_failed_call() {
    let server = busy();
    let outcome = run(&guarded(&server, calls(2, 3), json!([retry(4, 0)])));
    assert_eq!((server.count(), outcome.attempts.len()), (24, 24));
    assert_eq!(
        (&outcome.summary["calls"], &outcome.summary["errors"]),
        (&json!(6), &json!(6))
    );
}

#[test]
fn only_what_is_listed_is_tried_again() {
    let server = busy();
    let only =
        |on: Value| json!([{"retry": {"max_attempts": 3, "backoff": {"fixed": {"delay_us": 0}}, "on": on}}]);
    let outcome = run(&guarded(
        &server,
        calls(1, 1),
        only(json!(["timeout", 429, "504-599"])),
    ));
    assert_eq!(outcome.attempts.len(), 1);
    let outcome = run(&guarded(&server, calls(1, 1), only(json!(["500-503"]))));
    assert_eq!(outcome.attempts.len(), 3);
}

#[test]
fn seconds_of_retry_after_are_waited_for() {
    let server = busy_at_first(1, "Retry-After: 1\r\n".to_owned());
    let outcome = run(&guarded(&server, calls(1, 1), json!([retry(2, 0)])));
    let [first, second] = outcome.attempts.as_slice() else {
        panic!("{:?}", outcome.attempts)
    };
    assert!(second.start_us - first.end_us >= 1000 * MS - 1);
    assert!(second.success);
}

/// A moment in the form of HTTP's dates, which end with a second.
fn http_date(moment: SystemTime) -> String {
    httpdate::fmt_http_date(moment)
}

#[test]
fn a_date_in_retry_after_is_waited_for() {
    let date = SystemTime::now() + Duration::from_secs(2);
    let second = date.duration_since(UNIX_EPOCH).unwrap().as_secs();
    let server = busy_at_first(1, format!("Retry-After: {}\r\n", http_date(date)));
    let outcome = run(&guarded(&server, calls(1, 1), json!([retry(2, 0)])));
    assert_eq!((outcome.attempts.len(), outcome.attempts[1].success), (2, true));
    assert!(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() >= second);
}

#[test]
fn a_server_that_asks_for_more_than_is_granted_is_left_alone() {
    let server = busy_at_first(1, "Retry-After: 3600\r\n".to_owned());
    let outcome = run(&guarded(&server, calls(1, 1), json!([retry(5, 0)])));
    assert_eq!((server.count(), outcome.attempts.len()), (1, 1));
    let deaf = json!([{"retry": {"max_attempts": 2, "backoff": {"fixed": {"delay_us": 0}}, "retry_after_max_us": 0}}]);
    let server = busy_at_first(1, "Retry-After: 3600\r\n".to_owned());
    assert_eq!(run(&guarded(&server, calls(1, 1), deaf)).attempts.len(), 2);
}

#[test]
fn a_budget_keeps_retries_few() {
    let server = busy();
    let budget = json!({"retry_budget": {"ratio": 0.1, "capacity": 1}});
    let outcome = run(&guarded(&server, calls(1, 40), json!([retry(3, 0), budget])));
    // One was saved up, then one in ten; the first call's share came when the bucket was full.
    assert_eq!(outcome.attempts.len(), 40 + 1 + 3);
    assert_eq!(outcome.summary["calls"], json!(40));
    assert_eq!(outcome.summary["rejected"], json!(0));
}

#[test]
fn an_open_breaker_costs_no_attempt_and_gives_a_row_for_every_rejected_call() {
    let server = busy();
    let outcome = run(&guarded(&server, calls(1, 10), json!([breaker(3, 60_000_000)])));
    let rejected = outcome.with("rejected");
    assert_eq!((server.count(), rejected.len()), (3, 7));
    assert!(
        rejected
            .iter()
            .all(|row| row.attempt == 0 && !row.success && row.status.is_none())
    );
    let numbers: Vec<u32> = outcome.attempts.iter().map(|row| row.call).collect();
    assert_eq!(numbers, (0..10).collect::<Vec<_>>());
    assert_eq!(
        (&outcome.summary["calls"], &outcome.summary["rejected"]),
        (&json!(3), &json!(7))
    );
    // A user catches its breath after a rejected call.
    assert!(
        rejected
            .windows(2)
            .all(|pair| pair[1].start_us - pair[0].start_us >= MS - 1)
    );
}

#[test]
fn every_user_has_a_breaker_of_its_own_when_asked() {
    let server = busy();
    let mut own = breaker(2, 60_000_000);
    own["circuit_breaker"]["scope"] = json!("user");
    let outcome = run(&guarded(&server, calls(3, 5), json!([own])));
    assert_eq!((server.count(), outcome.with("rejected").len()), (6, 9));
}

#[test]
fn a_breaker_lets_failures_pass_that_it_does_not_count() {
    let server = Server::start(|_| status(429, "", ""));
    let mut lenient = breaker(2, 60_000_000);
    lenient["circuit_breaker"]["on"] = json!(["timeout", "connection_error", "500-599"]);
    let outcome = run(&guarded(&server, calls(1, 5), json!([lenient])));
    assert_eq!((server.count(), outcome.with("rejected").len()), (5, 0));
    let strict = run(&guarded(&server, calls(1, 5), json!([breaker(2, 60_000_000)])));
    assert_eq!((server.count(), strict.with("rejected").len()), (7, 3));
}

#[test]
fn arrivals_that_are_rejected_are_rows_too() {
    let server = busy();
    let workload = json!({"open": {"schedule": {"constant": {"rate": 200}}, "calls": 20, "users": 4}});
    let job = guarded(&server, workload, json!([breaker(5, 60_000_000)]));
    let outcome = run(&with(job, json!({"duration_us": 1_000_000})));
    assert_eq!(outcome.attempts.len(), 20);
    assert_eq!(server.count() + outcome.with("rejected").len(), 20);
    assert!(server.count() >= 5);
}

#[test]
fn a_timeout_inside_a_retry_ends_each_attempt() {
    let server = Server::start(|seen: &Seen| match seen.number {
        0 | 1 => after(Duration::from_millis(1_500), "late"),
        _ => ok("in time"),
    });
    let outcome = run(&guarded(
        &server,
        calls(1, 1),
        json!([retry(3, 0), {"timeout": {"after_us": 300_000}}]),
    ));
    assert_eq!(story(&outcome), [(1, "timeout"), (2, "timeout"), (3, "answered")]);
    assert!(
        outcome.attempts[..2]
            .iter()
            .all(|row| row.end_us - row.start_us >= 300 * MS - 1)
    );
    assert_eq!(acted(&outcome), [2, 2]);
}

#[test]
fn a_deadline_ends_the_call_and_begins_no_pause_that_would_outlast_it() {
    let server = busy();
    let outcome = run(&guarded(
        &server,
        calls(1, 1),
        json!([{"deadline": {"after_us": 1_000_000}}, retry(9, 400_000)]),
    ));
    assert!(
        (1..=3).contains(&outcome.attempts.len()),
        "{:?}",
        outcome.attempts
    );
    assert!(
        outcome
            .attempts
            .iter()
            .all(|row| row.outcome == "answered" && row.end_us < 1000 * MS)
    );
    let slow = Server::start(|_| after(Duration::from_millis(500), "late"));
    let outcome = run(&guarded(
        &slow,
        calls(1, 1),
        json!([{"deadline": {"after_us": 50_000}}, retry(9, 0)]),
    ));
    assert_eq!(story(&outcome), [(1, "timeout")]);
}

#[test]
fn a_deadline_counts_from_when_a_call_was_meant_to_begin_so_that_waiting_for_a_slow_one_is_no_gift() {
    let pace = json!({"every_us": 10_000, "late": "catch_up", "per": "request"});
    let workload = json!({"closed": {"users": 1, "pace": pace, "until": {"calls": 4}}});
    let policies = json!([{"deadline": {"after_us": 50_000}}]);
    let paced = with(
        job(URL, workload, json!([{"path": "/"}])),
        json!({"policies": policies}),
    );
    let (rows, _) = simulate(&paced, |_| Some((45 * simulated::MS, 200)));
    let told: Vec<(i64, i64, i64)> = rows
        .iter()
        .map(|row| (row.intended_us / MS, row.start_us / MS, row.end_us / MS))
        .collect();
    assert_eq!(told, [(0, 0, 45), (10, 45, 60), (20, 60, 70), (30, 70, 80)]);
    let outcomes: Vec<attemptlog::Outcome> = rows.iter().map(|row| row.outcome).collect();
    assert_eq!(outcomes[0], attemptlog::Outcome::Answered);
    assert_eq!(outcomes[1..], [attemptlog::Outcome::Timeout; 3]);
}

#[test]
fn the_loser_of_a_hedge_is_cancelled_and_the_call_is_good() {
    let server = Server::start(|seen| match seen.number {
        0 => after(Duration::from_millis(1_500), "slow"),
        _ => ok("fast"),
    });
    let outcome = run(&guarded(
        &server,
        calls(1, 1),
        json!([{"hedge": {"max_attempts": 2, "delay_us": 50_000}}]),
    ));
    assert_eq!(story(&outcome), [(1, "cancelled"), (2, "answered")]);
    assert!(outcome.attempts[1].start_us - outcome.attempts[0].start_us >= 50 * MS - 1);
    assert_eq!(
        (
            &outcome.summary["calls"],
            &outcome.summary["successes"],
            &outcome.summary["requests"]
        ),
        (&json!(1), &json!(1), &json!(2))
    );
    assert_eq!(outcome.summary["outcomes"]["cancelled"], json!(1));
}

#[test]
fn the_connection_of_a_cancelled_attempt_is_not_used_again() {
    let server = Server::start(|seen| match seen.number {
        0 => after(Duration::from_millis(300), "slow"),
        _ => ok("fast"),
    });
    let outcome = run(&guarded(
        &server,
        calls(1, 5),
        json!([{"hedge": {"max_attempts": 2, "delay_us": 50_000}}]),
    ));
    let good = outcome.attempts.iter().filter(|row| row.success);
    assert!(
        good.clone().all(|row| row.bytes == Some(4)),
        "{:?}",
        outcome.attempts
    );
    assert_eq!(good.count(), 5);
}

#[test]
fn a_bulkhead_lets_few_in_and_few_wait() {
    let server = Server::start(|_| after(Duration::from_millis(200), "x"));
    let workload = json!({"closed": {"users": 5, "until": {"calls_per_user": 1}}});
    let outcome = run(&guarded(
        &server,
        workload,
        json!([{"bulkhead": {"max_concurrent": 1, "max_waiting": 2}}]),
    ));
    assert_eq!(
        (outcome.with("answered").len(), outcome.with("rejected").len()),
        (3, 2)
    );
    let mut rows = outcome.with("answered");
    rows.sort_by_key(|row| row.start_us);
    assert!(rows.windows(2).all(|pair| pair[1].start_us >= pair[0].end_us));
}

#[test]
fn a_call_that_waited_in_vain_is_rejected() {
    let server = Server::start(|_| after(Duration::from_millis(400), "x"));
    let outcome = run(&guarded(
        &server,
        calls(2, 1),
        json!([{"bulkhead": {"max_concurrent": 1, "max_waiting": 1, "max_wait_us": 50_000}}]),
    ));
    let rejected = outcome.with("rejected");
    assert_eq!(rejected.len(), 1);
    assert!(rejected[0].end_us >= 50 * MS - 1);
}

#[test]
fn a_rate_limit_spaces_calls_out() {
    let server = Server::start(|_| ok("x"));
    let limit = json!({"rate_limit": {"calls": 1, "per_us": 50_000, "max_wait_us": 1_000_000}});
    let outcome = run(&guarded(&server, calls(1, 5), json!([limit])));
    let starts: Vec<i64> = outcome.attempts.iter().map(|row| row.start_us).collect();
    assert_eq!(starts.len(), 5);
    assert!(starts[4] - starts[0] >= 150 * MS, "{starts:?}");
    let strict = json!({"rate_limit": {"calls": 1, "per_us": 60_000_000, "burst": 3}});
    let outcome = run(&guarded(&server, calls(1, 5), json!([strict])));
    assert_eq!(
        (outcome.with("answered").len(), outcome.with("rejected").len()),
        (3, 2)
    );
}

#[test]
fn a_refused_connection_is_tried_again() {
    let steps = json!([{}]);
    let job = with(
        job("http://127.0.0.1:1", calls(2, 2), steps),
        json!({"policies": [retry(3, 1_000)]}),
    );
    let outcome = run(&job);
    assert_eq!(outcome.with("connection_error").len(), 12);
    assert_eq!(outcome.summary["calls"], json!(4));
}

#[test]
fn hung_up_connections_are_tried_again_on_another() {
    let server = Server::start(|seen| {
        if seen.number % 2 == 0 {
            Reply::HangUp
        } else {
            ok("x")
        }
    });
    let outcome = run(&guarded(&server, calls(1, 3), json!([retry(2, 0)])));
    assert_eq!(
        (
            outcome.with("connection_error").len(),
            outcome.with("answered").len()
        ),
        (3, 3)
    );
    assert_eq!(outcome.summary["successes"], json!(3));
}

#[test]
fn requests_of_a_polling_call_go_through_the_policies_one_by_one() {
    let server = Server::start(|seen| match seen.number {
        0 | 2 => status(503, "", ""),
        4 => ok("done"),
        _ => ok("pending"),
    });
    let steps = json!([{"path": "/", "poll": {"path": "/", "every_us": 1_000, "limit_us": 5_000_000, "until": {"body_contains": "done"}}}]);
    let job = with(
        job(&server.url(), calls(1, 1), steps),
        json!({"policies": [retry(2, 0)]}),
    );
    let outcome = run(&job);
    assert_eq!(outcome.attempts.len(), 5);
    assert_eq!(
        (&outcome.summary["calls"], &outcome.summary["successes"]),
        (&json!(1), &json!(1))
    );
}

#[test]
fn a_call_in_its_pause_when_the_time_is_over_is_a_failed_call() {
    let server = busy();
    let job = guarded(&server, calls(1, 1), json!([retry(2, 30_000_000)]));
    let outcome = run(&with(job, json!({"duration_us": 100_000, "drain_us": 100_000})));
    assert_eq!(story(&outcome), [(1, "answered")]);
    assert_eq!(
        (&outcome.summary["calls"], &outcome.summary["errors"]),
        (&json!(1), &json!(1))
    );
}

#[test]
fn a_poll_that_is_rejected_ends_its_call_as_failed() {
    let server = Server::start(|_| ok("pending"));
    let steps = json!([{"path": "/", "poll": {"path": "/", "every_us": 1_000, "limit_us": 5_000_000, "until": {"body_contains": "done"}}}]);
    let limit = json!({"rate_limit": {"calls": 1, "per_us": 60_000_000, "burst": 3}});
    let job = with(
        job(&server.url(), calls(1, 1), steps),
        json!({"policies": [limit]}),
    );
    let outcome = run(&job);
    assert_eq!(
        story(&outcome),
        [(1, "answered"), (2, "answered"), (3, "expectation_failed")]
    );
    assert_eq!(
        (&outcome.summary["calls"], &outcome.summary["errors"]),
        (&json!(1), &json!(1))
    );
}

#[test]
fn hedged_attempts_that_have_no_answer_when_the_time_is_over_are_one_call() {
    let server = Server::start(|_| after(Duration::from_secs(3), "late"));
    let hedge = json!({"hedge": {"max_attempts": 3, "delay_us": 20_000}});
    let job = guarded(&server, calls(1, 1), json!([hedge]));
    let outcome = run(&with(job, json!({"duration_us": 100_000, "drain_us": 200_000})));
    assert_eq!(outcome.with("cancelled").len(), 3);
    assert_eq!(
        (&outcome.summary["calls"], &outcome.summary["errors"]),
        (&json!(1), &json!(1))
    );
}

#[test]
fn a_call_that_still_waits_in_a_bulkhead_when_the_time_is_over_is_dropped() {
    let server = Server::start(|_| after(Duration::from_secs(3), "late"));
    let bulkhead = json!({"bulkhead": {"max_concurrent": 1, "max_waiting": 5}});
    let job = guarded(&server, calls(3, 1), json!([bulkhead]));
    let outcome = run(&with(job, json!({"duration_us": 100_000, "drain_us": 100_000})));
    assert_eq!(
        (outcome.with("cancelled").len(), outcome.with("dropped").len()),
        (1, 2)
    );
    assert_eq!(outcome.summary["calls"], json!(1));
}

#[test]
fn users_who_keep_a_pace_keep_it_when_they_are_rejected() {
    let server = busy();
    let workload =
        json!({"closed": {"users": 1, "pace": {"every_us": 20_000}, "until": {"calls_per_user": 10}}});
    let outcome = run(&guarded(&server, workload, json!([breaker(1, 60_000_000)])));
    let intended: Vec<i64> = outcome.attempts.iter().map(|row| row.intended_us).collect();
    assert_eq!(intended, (0..10).map(|call| call * 20 * MS).collect::<Vec<_>>());
    assert_eq!(outcome.with("rejected").len(), 9);
}

/// All policies at once, with short times.
fn everything() -> Value {
    json!([
        {"deadline": {"after_us": 400_000}},
        {"retry": {"max_attempts": 4, "backoff": {"exponential": {"initial_us": 1_000, "multiplier": 2, "max_us": 5_000}}, "jitter": "full"}},
        {"retry_budget": {"ratio": 0.5, "min_per_s": 10, "capacity": 20}},
        {"circuit_breaker": {"failure_rate": 40, "slow_call": {"rate": 90, "duration_us": 30_000}, "window": {"calls": 20}, "minimum_calls": 10, "open_for_us": 20_000, "half_open_calls": 3}},
        {"rate_limit": {"calls": 100, "per_us": 1_000_000, "burst": 10, "max_wait_us": 50_000, "scope": "user"}},
        {"bulkhead": {"max_concurrent": 8, "max_waiting": 8, "max_wait_us": 20_000}},
        {"hedge": {"max_attempts": 2, "delay_us": 10_000}},
        {"timeout": {"after_us": 60_000}},
    ])
}

#[test]
fn whatever_happens_every_call_is_recorded_once_and_its_attempts_without_a_gap() {
    let server = Server::start(|seen| match seen.number {
        number if number % 11 == 0 => after(Duration::from_millis(80), "slow"),
        number if number % 7 == 0 => Reply::HangUp,
        number if number % 3 == 0 => status(503, "Retry-After: 0\r\n", ""),
        _ => ok("x"),
    });
    let outcome = run(&guarded(&server, calls(20, 25), everything()));
    let mut attempts: BTreeMap<(u32, u32), Vec<u16>> = BTreeMap::new();
    for row in &outcome.attempts {
        attempts
            .entry((row.user, row.call))
            .or_default()
            .push(row.attempt);
    }
    let expected: Vec<(u32, u32)> = (0..20)
        .flat_map(|user| (0..25).map(move |call| (user, call)))
        .collect();
    assert_eq!(attempts.keys().copied().collect::<Vec<_>>(), expected);
    for (call, mut numbers) in attempts {
        numbers.sort_unstable();
        let unbroken: Vec<u16> = (1..=numbers.len() as u16).collect();
        assert!(numbers == [0] || numbers == unbroken, "{call:?}: {numbers:?}");
    }
    let count = |name: &str| outcome.summary[name].as_u64().unwrap();
    assert_eq!(count("calls") + count("rejected"), 500);
    assert_eq!(count("successes") + count("errors"), count("calls"));
    // The last row of a call tells how it ended.
    let last: BTreeMap<(u32, u32), bool> = outcome
        .attempts
        .iter()
        .map(|row| ((row.user, row.call), row.success))
        .collect();
    assert_eq!(
        last.values().filter(|good| **good).count() as u64,
        count("successes")
    );
    let on_the_wire = outcome.attempts.iter().filter(|row| row.attempt > 0).count();
    assert_eq!(count("requests") as usize, on_the_wire);
    assert!(acted(&outcome).iter().sum::<u64>() > 0);
}

#[test]
fn what_is_wrong_with_policies_is_listed_at_once() {
    let wrong = json!([
        {"retry_budget": {"ratio": 0.1, "capacity": 1}},
        {"retry": {"max_attempts": 0, "backoff": {"fixed": {"delay": 1}}, "jitter": 2, "on": ["never"]}},
        {"circuit_breaker": {"failure_rate": 0, "window": {"calls": 5}, "minimum_calls": 6, "open_for_us": 1, "half_open_calls": 1, "on": [429, "any"]}},
        {"hope": {}},
        {"timeout": {"after_us": "1s"}},
    ]);
    let server_less = with(
        job("http://127.0.0.1:1", calls(1, 1), json!([{}])),
        json!({"policies": wrong}),
    );
    let paths = wrong_paths(&server_less);
    for path in [
        "policies[1].retry.max_attempts",
        "policies[1].retry.backoff.fixed.delay",
        "policies[1].retry.backoff.fixed.delay_us",
        "policies[1].retry.jitter",
        "policies[1].retry.on[0]",
        "policies[2].circuit_breaker.failure_rate",
        "policies[2].circuit_breaker.minimum_calls",
        "policies[2].circuit_breaker.on[1]",
        "policies[3].hope",
        "policies[4].timeout.after_us",
    ] {
        assert!(
            paths.iter().any(|found| found == path),
            "{path} is not among {paths:?}"
        );
    }
}

#[test]
fn policies_that_can_do_nothing_or_too_much_are_refused() {
    let refused = |policies: Value| {
        wrong_paths(&with(
            job("http://127.0.0.1:1", calls(1, 1), json!([{}])),
            json!({"policies": policies}),
        ))
    };
    assert_eq!(
        refused(json!([{"retry_budget": {"ratio": 0.1, "capacity": 1}}, retry(2, 0)])),
        ["policies[0]"]
    );
    assert_eq!(refused(json!([retry(1000, 0), retry(1000, 0)])), ["policies"]);
    assert_eq!(refused(json!([])), ["policies"]);
    let mut never = breaker(5, 1);
    never["circuit_breaker"]["minimum_calls"] = json!(6);
    assert_eq!(
        refused(json!([never])),
        ["policies[0].circuit_breaker.minimum_calls"]
    );
}
