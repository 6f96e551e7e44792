//! Servers that mean harm: whatever they send, the round ends in time and every attempt is recorded.
#![allow(missing_docs)]

mod common;

use common::Reply;
use common::{Server, job, run, with};
use proptest::prelude::*;
use serde_json::json;
use std::time::{Duration, Instant};

fn nearly_http() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        Just("HTTP/1.1 200 OK\r\n".to_owned()),
        Just("Content-Length: 18446744073709551615\r\n".to_owned()),
        Just("Content-Length: 3\r\n".to_owned()),
        Just("Transfer-Encoding: chunked\r\n".to_owned()),
        Just("\r\n".to_owned()),
        Just("FFFFFFFFFFFFFFFF\r\n".to_owned()),
        Just("HTTP/1.1 100 Continue\r\n\r\n".repeat(50)),
        "[ -~]{0,30}",
        Just("X: ".to_owned() + &"y".repeat(70_000)),
    ];
    proptest::collection::vec(part, 0..6).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn no_answer_keeps_a_round_beyond_its_time(text in nearly_http()) {
        let server = Server::start(move |_| Reply::Send(Duration::ZERO, text.clone()));
        let workload = json!({"closed": {"users": 2, "until": {"calls": 6}}});
        let job = with(job(&server.url(), workload, json!([{"timeout_us": 20_000}])), json!({"duration_us": 300_000, "drain_us": 100_000}));
        let before = Instant::now();
        let outcome = run(&job);
        prop_assert!(before.elapsed() < Duration::from_secs(5));
        prop_assert_eq!(outcome.attempts.len(), 6);
    }
}
