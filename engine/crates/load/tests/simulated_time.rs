//! The same users, policies and schedules on a runtime without sockets, whose time jumps from one event to the next.
#![allow(missing_docs)]

mod common;

use common::simulated::{MS, Service, URL, simulate, simulate_set_clock, simulate_sleeps};
use common::{Server, job, ok, run, status, with};
use patternbench_attemptlog::Outcome;
use serde_json::json;

const HOUR_US: i64 = 3_600_000_000;

#[test]
fn hours_of_thinking_pass_at_once_and_to_the_microsecond() {
    let closed = json!({"closed": {"users": 3, "think_us": HOUR_US, "until": {"calls_per_user": 20}}});
    let (rows, finished) = simulate(&job(URL, closed, json!([{}])), |_| Some((10 * MS, 200)));
    assert_eq!(rows.len(), 60);
    for row in &rows {
        let start = i64::from(row.call) * (HOUR_US + 10_000);
        assert_eq!(
            (row.start_us, row.end_us, row.success),
            (start, start + 10_000, true)
        );
    }
    // No one thinks after the last call.
    assert_eq!(
        finished.elapsed.as_micros() as i64,
        19 * (HOUR_US + 10_000) + 10_000
    );
}

#[test]
fn arrivals_of_a_day_come_when_their_schedule_says() {
    let open = json!({"open": {"schedule": {"constant": {"rate": 0.5}}, "max_in_flight": 2}});
    let day = with(job(URL, open, json!([{}])), json!({"duration_us": 24 * HOUR_US}));
    let (rows, _) = simulate(&day, |number| {
        Some(if number % 1000 == 7 {
            (5_000 * MS, 200)
        } else {
            (MS, 200)
        })
    });
    assert_eq!(rows.len(), 43_200);
    let dropped = rows.iter().filter(|row| row.outcome == Outcome::Dropped).count();
    assert_eq!(
        dropped, 0,
        "two are in flight only while one takes five seconds, and the third comes after it"
    );
    let late = rows.iter().filter(|row| row.start_us != row.intended_us).count();
    assert_eq!(late, 0, "whoever waits");
}

#[test]
fn rates_of_few_calls_are_over_the_time_for_which_calls_start() {
    let open = |more| {
        let schedule = with(
            json!({"schedule": {"constant": {"rate": 1}}, "max_in_flight": 2}),
            more,
        );
        with(
            job(URL, json!({"open": schedule}), json!([{}])),
            json!({"duration_us": 2_000_000}),
        )
    };
    let measured = |job: &serde_json::Value| {
        let (rows, finished) = simulate(job, |_| Some((MS, 200)));
        (rows.len(), finished.duration.as_micros())
    };
    assert_eq!(
        measured(&open(json!({}))),
        (2, 2_000_000),
        "one a second for two seconds"
    );
    assert_eq!(
        measured(&open(json!({"calls": 1}))),
        (1, 1000),
        "their number ended it"
    );
    let thinking = json!({"closed": {"users": 1, "think_us": HOUR_US}});
    let closed = with(job(URL, thinking, json!([{}])), json!({"duration_us": 1_000_000}));
    assert_eq!(measured(&closed), (1, 1_000_000), "one call, then a pause");
}

#[test]
fn a_back_off_lasts_exactly_as_long_as_it_says() {
    let retry = json!([{"retry": {"max_attempts": 4, "backoff": {"exponential": {"initial_us": 50_000, "multiplier": 3}}}}]);
    let closed = json!({"closed": {"users": 1, "until": {"calls": 1}}});
    let failing = with(job(URL, closed, json!([{}])), json!({"policies": retry}));
    let (rows, _) = simulate(&failing, |_| Some((MS, 503)));
    let starts: Vec<i64> = rows.iter().map(|row| row.start_us).collect();
    assert_eq!(starts, [0, 51_000, 202_000, 653_000]);
}

#[test]
fn a_silent_server_is_a_timeout_at_its_very_moment() {
    let closed = json!({"closed": {"users": 2, "until": {"calls_per_user": 2}}});
    let (rows, _) = simulate(&job(URL, closed, json!([{"timeout_us": 250_000}])), |_| None);
    let mut times: Vec<_> = rows
        .iter()
        .map(|row| (row.user, row.start_us, row.end_us, row.outcome))
        .collect();
    times.sort_unstable_by_key(|(user, start, ..)| (*user, *start));
    let wanted = |user| {
        [
            (user, 0, 250_000, Outcome::Timeout),
            (user, 250_000, 500_000, Outcome::Timeout),
        ]
    };
    assert_eq!(times, [wanted(0), wanted(1)].concat());
}

#[test]
fn the_same_job_and_seed_give_the_same_rows() {
    let poisson =
        json!({"open": {"schedule": {"constant": {"rate": 200}}, "spacing": "poisson", "max_in_flight": 5}});
    let policies = json!([
        {"retry": {"max_attempts": 3, "backoff": {"fixed": {"delay_us": 20_000}}, "jitter": "full"}},
        {"circuit_breaker": {"failure_rate": 50, "window": {"calls": 10}, "minimum_calls": 5, "open_for_us": 200_000, "half_open_calls": 2}},
        {"hedge": {"max_attempts": 2, "delay_us": 15_000}},
    ]);
    let job = with(
        job(URL, poisson, json!([{}])),
        json!({"policies": policies, "duration_us": 20_000_000}),
    );
    let service: Service = |number| {
        Some((
            MS * (1 + number * 7 % 31),
            if number % 3 == 0 { 503 } else { 200 },
        ))
    };
    let (once, _) = simulate(&job, service);
    let (twice, _) = simulate(&job, service);
    assert!(once.len() > 3_000 && once == twice);
    let other = with(job, json!({"seed": 8}));
    assert_ne!(
        once,
        simulate(&other, service).0,
        "another seed, other arrivals and jitter"
    );
}

#[test]
fn users_do_in_simulated_time_what_they_do_on_sockets() {
    let retry = json!([
        {"retry": {"max_attempts": 3, "backoff": {"fixed": {"delay_us": 1_000}}}},
        {"circuit_breaker": {"failure_rate": 100, "window": {"calls": 4}, "minimum_calls": 4, "open_for_us": 1_000_000, "half_open_calls": 1}},
    ]);
    let steps = json!([{"name": "a", "path": "/a"}, {"name": "b", "path": "/b", "repeat": 2}]);
    let closed = json!({"closed": {"users": 1, "think_us": 500, "until": {"calls_per_user": 16}}});
    let server = Server::start(|seen| {
        if fails(seen.number) {
            status(503, "", "")
        } else {
            ok("")
        }
    });
    let job = |url: &str| {
        with(
            job(url, closed.clone(), steps.clone()),
            json!({"policies": retry, "rejected_pause_us": 1_100_000}),
        )
    };
    let real = run(&job(&server.url()));
    let (rows, _) = simulate(&job(URL), |number| {
        Some((MS, if fails(number) { 503 } else { 200 }))
    });
    let simulated: Vec<_> = rows
        .iter()
        .map(|row| (row.call, row.attempt, row.outcome.name(), row.success))
        .collect();
    let measured: Vec<_> = real
        .attempts
        .iter()
        .map(|row| (row.call, row.attempt, row.outcome.as_str(), row.success))
        .collect();
    assert_eq!(simulated, measured);
    assert!(rows.iter().any(|row| row.outcome == Outcome::Rejected) && rows.len() > 16);
}

/// Most answers of a stretch are failures, so that retries and the breaker have something to do.
fn fails(number: u64) -> bool {
    number % 12 < 5
}

#[test]
fn answers_that_lie_until_the_next_arrival_are_told_as_if_they_had_been_read_at_once() {
    let poisson =
        json!({"open": {"schedule": {"constant": {"rate": 5000}}, "spacing": "poisson", "max_in_flight": 3}});
    let job = with(
        job(URL, poisson, json!([{"timeout_us": 900}])),
        json!({"duration_us": 4_000_000}),
    );
    // Some answers come too late, and some never.
    let service: Service =
        |number| (number % 701 != 3).then_some((50_007 + number * 7919 % 400_000 * 9 / 4, 200));
    let (at_once, woken) = simulate_sleeps(&job, service, false);
    let (late, woken_less) = simulate_sleeps(&job, service, true);
    assert_eq!(at_once, late);
    for outcome in [Outcome::Answered, Outcome::Timeout, Outcome::Dropped] {
        assert!(late.iter().any(|row| row.outcome == outcome), "{outcome:?}");
    }
    assert!(woken_less * 4 < woken * 3, "{woken_less} {woken}");
}

#[test]
fn no_answer_takes_no_time_because_a_clock_was_set_forward_while_it_lay() {
    let open = json!({"open": {"schedule": {"constant": {"rate": 2500}}, "max_in_flight": 3}});
    let job = with(job(URL, open, json!([{}])), json!({"duration_us": 400_000}));
    // It is set between an answer, which comes after 150 us, and the next arrival, after 400 us, which reads it.
    let rows = simulate_set_clock(&job, |_| Some((3 * MS / 20, 200)), 2_802 * MS / 10);
    let times: Vec<_> = rows.iter().map(|row| row.end_us - row.start_us).collect();
    assert!(
        times.len() > 900 && times.iter().all(|time| [150, 400].contains(time)),
        "{times:?}"
    );
    assert_eq!(times.iter().filter(|time| **time == 400).count(), 1, "{times:?}");
}
