//! The wait belongs to the response time, in every place where the engine states one. All bounds are lower ones: a
//! slow machine makes times longer, and only a time that leaves the wait out is too short.
#![allow(missing_docs)]

mod common;

use base64::Engine as _;
use common::{Outcome, Server, after, job, ok, run};
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use serde_json::json;
use std::sync::{Condvar, Mutex};
use std::time::Duration;

/// The `place`th of the response times, from 1, as the log and the histograms give it, in milliseconds.
fn said(outcome: &Outcome, place: usize) -> [f64; 2] {
    let mut logged: Vec<i64> = outcome
        .attempts
        .iter()
        .map(|row| row.end_us - row.intended_us)
        .collect();
    logged.sort_unstable();
    let percent = 100.0 * place as f64 / logged.len() as f64;
    let histogram = histogram(outcome, "response");
    [
        logged[place - 1] as f64 / 1000.0,
        histogram.value_at_percentile(percent) as f64 / 1000.0,
    ]
}

fn histogram(outcome: &Outcome, measure: &str) -> Histogram<u64> {
    let all = outcome.histograms["histograms"].as_array().unwrap();
    let found = all.iter().find(|entry| entry["measure"] == measure).unwrap();
    let bytes = base64::engine::general_purpose::STANDARD
        .decode(found["hdr"].as_str().unwrap())
        .unwrap();
    Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap()
}

/// A server that answers no one until `until` requests have come: it stands still while arrivals continue.
fn standing_still(until: u64) -> Server {
    let asked = (Mutex::new(0), Condvar::new());
    Server::start(move |_| {
        let mut count = asked.0.lock().unwrap();
        *count += 1;
        asked.1.notify_all();
        drop(asked.1.wait_while(count, |count| *count < until).unwrap());
        ok("")
    })
}

#[test]
fn calls_during_a_standstill_took_until_its_end() {
    const CALLS: usize = 40;
    let server = standing_still(CALLS as u64);
    let workload = json!({"open": {"schedule": {"constant": {"rate": 200}}, "calls": CALLS}});
    let outcome = run(&job(&server.url(), workload, json!([{}])));
    assert_eq!(outcome.with("answered").len(), CALLS);
    // The last call was due 5 ms after the one before it, and so on back to the first.
    for row in &outcome.attempts {
        assert!(row.end_us >= 195_000, "{row:?}");
    }
    for place in 1..=CALLS {
        let least = 5.0 * (place - 1) as f64;
        assert!(
            said(&outcome, place).iter().all(|ms| *ms >= least),
            "{place}: {:?}",
            said(&outcome, place)
        );
    }
    assert!(outcome.summary["response_ms"]["p50"].as_f64().unwrap() >= 95.0);
    assert!(outcome.summary["response_ms"]["max"].as_f64().unwrap() >= 195.0);
}

#[test]
fn a_user_that_keeps_a_pace_counts_the_wait_before_its_sends() {
    // The first answer takes as long as ten calls: the next nine are sent late, and none of them is slow in itself.
    let server =
        Server::start(|seen| after(Duration::from_millis(if seen.number == 0 { 100 } else { 0 }), ""));
    let workload = json!({"closed": {"users": 1, "pace": {"every_us": 10_000}, "until": {"calls": 10}}});
    let outcome = run(&job(&server.url(), workload, json!([{}])));
    for place in 1..=10 {
        let least = 10.0 * place as f64;
        assert!(
            said(&outcome, place).iter().all(|ms| *ms >= least),
            "{place}: {:?}",
            said(&outcome, place)
        );
    }
    assert!(outcome.summary["response_ms"]["p50"].as_f64().unwrap() >= 50.0);
    let service: i64 = outcome.attempts.iter().map(|row| row.end_us - row.start_us).sum();
    let response: i64 = outcome
        .attempts
        .iter()
        .map(|row| row.end_us - row.intended_us)
        .sum();
    // Waits of 90, 80, ... 10 ms lie between the two.
    assert!(response >= service + 450_000, "{response} {service}");
}
