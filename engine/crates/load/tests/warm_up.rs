//! Warm-ups that end by answers instead of by time.
#![allow(missing_docs)]

mod common;

use common::simulated::{MS, URL, simulate};
use common::{Server, job, ok, run, with, wrong_paths};
use serde_json::json;

const SECOND: i64 = 1_000_000;

#[test]
fn a_warm_up_ends_two_ticks_at_most_after_the_last_answer_that_it_asks_for() {
    let closed = json!({"closed": {"users": 1}});
    let times = json!({"warm_up_us": 60 * SECOND, "warm_up_requests": 100, "duration_us": 2 * SECOND});
    let (rows, finished) = simulate(&with(job(URL, closed, json!([{}])), times), |_| {
        Some((10 * MS, 200))
    });
    // The hundredth answer comes after a second, at a tick; the one after it ends the warm-up.
    assert_eq!(finished.warm_up.as_micros(), 1_250_000);
    assert!(
        rows.iter()
            .all(|row| row.warm_up == (row.intended_us < 1_250_000))
    );
    assert_eq!(rows.iter().filter(|row| !row.warm_up).count(), 200);
    assert_eq!(
        (finished.warm_up_missing, finished.elapsed.as_millis()),
        (0, 3_250)
    );
}

#[test]
fn a_service_that_answers_too_little_is_waited_for_no_longer_than_the_time_says() {
    let open = json!({"open": {"schedule": {"constant": {"rate": 10}}}});
    let times = json!({"warm_up_us": 2 * SECOND, "warm_up_requests": 100, "duration_us": SECOND});
    let (rows, finished) = simulate(&with(job(URL, open, json!([{}])), times), |_| Some((MS, 200)));
    assert_eq!((rows.len(), finished.warm_up_missing), (30, 70));
    assert_eq!(rows.iter().filter(|row| row.warm_up).count(), 20);
}

#[test]
fn arrivals_and_pauses_end_with_the_shorter_round() {
    let arrivals = json!({"open": {"schedule": {"constant": {"rate": 100}}}});
    let sleepy = json!({"closed": {"users": 1, "think_us": 3600 * SECOND}});
    let mut job = with(
        job(URL, arrivals, json!([{}])),
        json!({"warm_up_us": 7200 * SECOND, "warm_up_requests": 50, "duration_us": SECOND}),
    );
    let group = json!({"name": "sleepy", "workload": sleepy, "journeys": [{"steps": [{"name": "nap"}]}]});
    job["groups"].as_array_mut().unwrap().push(group);
    let (rows, finished) = simulate(&job, |_| Some((MS, 200)));
    let last = rows.iter().map(|row| row.intended_us).max();
    let end = finished.warm_up.as_micros() as i64 + SECOND;
    assert!(
        last.is_some_and(|last| last < end) && rows.len() > 150,
        "{last:?} {end}"
    );
    assert!(
        finished.elapsed.as_micros() as i64 <= end + 250_000,
        "nobody is waited for who only pauses"
    );
}

#[test]
fn failed_connections_warm_nothing_and_the_summary_says_what_was_missing() {
    let server = Server::start(|seen| {
        if seen.number < 3 {
            common::Reply::HangUp
        } else {
            ok("")
        }
    });
    let closed = json!({"closed": {"users": 1, "think_us": 10_000}});
    let times = json!({"warm_up_us": 300_000, "warm_up_requests": 1_000_000, "duration_us": 300_000});
    let outcome = run(&with(job(&server.url(), closed, json!([{}])), times));
    assert!(outcome.has_doubt("warm_up_cut_short"));
    assert_eq!(outcome.summary["warm_up_us"], 300_000);
    assert!(outcome.attempts.iter().any(|attempt| !attempt.warm_up));
}

#[test]
fn a_warm_up_until_the_service_has_settled_outlasts_its_fall_and_little_more() {
    let closed = json!({"closed": {"users": 1}});
    let times = json!({"warm_up_us": 600 * SECOND, "warm_up_settled": true, "duration_us": SECOND});
    let (rows, finished) = simulate(&with(job(URL, closed, json!([{}])), times), |request| {
        Some(((70 - request.min(3000) / 50) * MS, 200))
    });
    let warming = rows.iter().filter(|row| row.warm_up).count();
    assert!((3000..4800).contains(&warming), "{warming}");
    assert!(!finished.warm_up_unsettled);
}

#[test]
fn a_service_that_does_not_settle_is_waited_for_no_longer_than_the_time_says_and_doubted() {
    let server = Server::start(|_| ok(""));
    let closed = json!({"closed": {"users": 1, "think_us": 10_000}});
    let times = json!({"warm_up_us": 300_000, "warm_up_settled": true, "duration_us": 100_000});
    let outcome = run(&with(job(&server.url(), closed, json!([{}])), times));
    assert!(outcome.has_doubt("warm_up_cut_short"));
    assert_eq!(outcome.summary["warm_up_us"], 300_000);
}

#[test]
fn a_warm_up_ends_by_a_number_of_answers_or_once_settled_but_not_by_both() {
    let both = json!({"warm_up_requests": 5, "warm_up_settled": true, "duration_us": SECOND});
    let closed = json!({"closed": {"users": 1}});
    assert_eq!(
        wrong_paths(&with(job(URL, closed, json!([{}])), both)),
        ["warm_up_settled"]
    );
}

#[test]
fn attempts_of_the_warm_up_do_not_use_up_those_of_a_user() {
    let retry = json!([{"retry": {"max_attempts": 3, "backoff": {"fixed": {"delay_us": 1_000}}}}]);
    let closed =
        json!({"closed": {"users": 2, "until": {"successes_per_user": 100}, "attempts_per_user": 7}});
    let job = with(
        job(URL, closed, json!([{}])),
        json!({"policies": retry, "warm_up_us": SECOND, "duration_us": 5 * SECOND}),
    );
    let (rows, _) = simulate(&job, |_| Some((10 * MS, 503)));
    for user in 0..2 {
        let of_user = rows.iter().filter(|row| row.user == user);
        let (warm_up, measured): (Vec<&_>, Vec<&_>) = of_user.partition(|row| row.warm_up);
        assert!(warm_up.len() > 7);
        // The limit is looked at before each call, so the third call of three attempts is the last.
        assert_eq!(measured.len(), 9);
    }
}

#[test]
fn a_limit_of_attempts_is_at_least_one() {
    let closed = json!({"closed": {"users": 1, "attempts_per_user": 0}});
    let job = with(job(URL, closed, json!([{}])), json!({"duration_us": SECOND}));
    assert_eq!(wrong_paths(&job), ["groups[0].workload.closed.attempts_per_user"]);
}
