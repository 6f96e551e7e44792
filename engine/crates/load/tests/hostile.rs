//! Whatever a server sends, a round ends in its time, every call has its row, and memory stays bounded.
#![allow(
    missing_docs,
    clippy::disallowed_methods,
    reason = "tests run outside the runtime that they test"
)]

mod common;

use common::{Outcome, Reply, Server, job, run, with};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

static ALONE: Mutex<()> = Mutex::new(());

/// A server that sends a beginning and then the same again and again, until the caller has had enough.
fn endless(begins: &str, repeats: &str, pause: Duration) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (begins, repeats) = (begins.to_owned(), repeats.to_owned());
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (begins, repeats) = (begins.clone(), repeats.clone());
            std::thread::spawn(move || pour(stream, &begins, &repeats, pause));
        }
    });
    url
}

fn pour(mut stream: TcpStream, begins: &str, repeats: &str, pause: Duration) {
    let _ = stream.read(&mut [0; 4096]);
    let mut alive = stream.write_all(begins.as_bytes()).is_ok();
    while alive {
        std::thread::sleep(pause);
        alive = stream.write_all(repeats.as_bytes()).is_ok();
    }
}

/// Runs calls of two users with a timeout of 200 ms, and holds the round to its time and its memory.
fn survive(url: &str, step: &Value, more: Value) -> Outcome {
    let mut step = step.clone();
    step["timeout_us"] = json!(200_000);
    let workload = json!({"closed": {"users": 2, "until": {"calls": 4}}});
    let job = with(
        job(url, workload, json!([step])),
        json!({"duration_us": 3_000_000, "drain_us": 100_000}),
    );
    // One at a time, so that the memory is that of one round.
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let (started, before) = (Instant::now(), peak_kib());
    let outcome = run(&with(job, more));
    assert!(
        started.elapsed() < Duration::from_secs(10),
        "{:?}",
        started.elapsed()
    );
    assert!(
        peak_kib() < before + 64 * 1024,
        "{} KiB before, {} after",
        before,
        peak_kib()
    );
    assert_eq!(outcome.attempts.len(), 4);
    outcome
}

fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

fn too_large(outcome: &Outcome) -> bool {
    outcome.summary["socket_errors"]["too_large"] == 4
}

#[test]
fn a_head_without_an_end_is_too_large() {
    let header = format!("X-Flood: {}\r\n", "x".repeat(1000));
    let starts = "HTTP/1.1 200 OK\r\nX: ";
    let informational = "HTTP/1.1 100 Continue\r\n\r\n";
    for (begins, repeats) in [
        (starts, header.as_str()),
        (starts, "A: b\r\n"),
        (starts, "x"),
        ("", informational),
    ] {
        let url = endless(begins, &repeats.repeat(100), Duration::ZERO);
        let outcome = survive(&url, &json!({}), json!({}));
        assert!(
            too_large(&outcome),
            "{begins}{repeats} {}",
            outcome.summary["socket_errors"]
        );
    }
}

#[test]
fn an_extension_or_trailer_without_an_end_is_too_large() {
    for begins in ["1;x=", "1\r\nx\r\n0\r\nT: "] {
        let begins = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{begins}");
        let url = endless(&begins, &"y".repeat(10_000), Duration::ZERO);
        assert!(too_large(&survive(&url, &json!({}), json!({}))), "{begins}");
    }
}

#[test]
fn a_body_without_an_end_is_a_timeout_on_time_however_much_is_allowed() {
    let chunk = format!("10000\r\n{}\r\n", "x".repeat(0x10000));
    let bodies = [
        ("", "x".repeat(1 << 20)),
        ("Transfer-Encoding: chunked\r\n", chunk.repeat(16)),
        ("Content-Length: 1000000000000\r\n", "x".repeat(1 << 20)),
    ];
    let looks = json!({"expect": {"body_contains": "never"}, "capture": {"a": {"regex": "never"}}});
    for (header, repeats) in bodies {
        let url = endless(
            &format!("HTTP/1.1 200 OK\r\n{header}\r\n"),
            &repeats,
            Duration::ZERO,
        );
        let outcome = survive(&url, &looks, json!({"limits": {"body_bytes": 1u64 << 50}}));
        assert_eq!(
            outcome.with("timeout").len(),
            4,
            "{header} {:?}",
            outcome.attempts
        );
    }
}

#[test]
fn a_body_beyond_the_limit_is_too_large() {
    let url = endless("HTTP/1.1 200 OK\r\n\r\n", &"x".repeat(10_000), Duration::ZERO);
    assert!(too_large(&survive(
        &url,
        &json!({}),
        json!({"limits": {"body_bytes": 1_000_000}})
    )));
}

#[test]
fn an_answer_that_drips_is_a_timeout_on_time() {
    for begins in [
        "",
        "HTTP/1.1 200 OK\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 10000\r\n\r\n",
    ] {
        let url = endless(begins, "H", Duration::from_millis(5));
        let outcome = survive(&url, &json!({}), json!({}));
        assert_eq!(
            outcome.with("timeout").len(),
            4,
            "{begins} {:?}",
            outcome.attempts
        );
    }
}

#[test]
fn one_server_without_an_end_does_not_keep_the_others_waiting() {
    let flood = endless("HTTP/1.1 200 OK\r\n\r\n", &"x".repeat(1 << 20), Duration::ZERO);
    let fine = Server::start(|_| common::ok("fine"));
    let targets = json!([{"url": flood}, {"url": fine.url()}]);
    let workload = json!({"closed": {"users": 2, "until": {"calls": 8}}});
    let limits = json!({"targets": targets, "limits": {"body_bytes": 1u64 << 50}});
    let outcome = run(&with(
        job(&fine.url(), workload, json!([{"timeout_us": 300_000}])),
        limits,
    ));
    assert_eq!(
        (outcome.with("answered").len(), outcome.with("timeout").len()),
        (4, 4)
    );
}

#[test]
fn a_packed_body_is_counted_as_it_came_and_not_unpacked() {
    // A megabyte of zeros as gzip begins so; no one looks inside.
    let packed = "\u{1f}\u{8}\0\0\0\0\0\0";
    let server = Server::start(move |_| common::status(200, "Content-Encoding: gzip\r\n", packed));
    let outcome = survive(&server.url(), &json!({}), json!({}));
    assert!(
        outcome
            .attempts
            .iter()
            .all(|row| row.success && row.bytes == Some(8))
    );
}

#[test]
fn deep_and_wide_json_is_looked_into_within_bounds() {
    let wide = format!("[{}0]", "0,".repeat(500_000));
    let deep = "[".repeat(1 << 20);
    let step = json!({"expect": {"json": [{"path": "$..x"}]}});
    for body in [wide, deep] {
        let server = Server::start(move |_| common::ok(&body));
        let outcome = survive(&server.url(), &step, json!({}));
        assert!(outcome.attempts.iter().all(|row| !row.success));
    }
}

fn nearly_http() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        Just("HTTP/1.1 200 OK\r\n".to_owned()),
        Just("HTTP/1.1 302 X\r\nLocation: ".to_owned()),
        Just("Set-Cookie: a=b; Max-Age=".to_owned()),
        Just("Content-Length: 18446744073709551615\r\n".to_owned()),
        Just("Content-Length: 3\r\n".to_owned()),
        Just("Transfer-Encoding: chunked\r\n".to_owned()),
        Just("\r\n".to_owned()),
        Just("FFFFFFFFFFFFFFFF\r\n".to_owned()),
        Just("HTTP/1.1 100 Continue\r\n\r\n".repeat(50)),
        "[ -~]{0,30}",
        "\\PC{0,30}",
        Just("X: ".to_owned() + &"y".repeat(70_000)),
    ];
    proptest::collection::vec(part, 0..8).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn no_answer_keeps_a_round_beyond_its_time(text in nearly_http()) {
        let server = Server::start(move |_| Reply::Send(Duration::ZERO, text.clone()));
        let workload = json!({"closed": {"users": 2, "until": {"calls": 6}}});
        let step = json!([{"timeout_us": 20_000, "max_redirects": 2, "capture": {"a": {"cookie": "a"}}}]);
        let mut job = with(job(&server.url(), workload, step), json!({"duration_us": 300_000, "drain_us": 100_000}));
        job["groups"][0]["journeys"][0]["cookies"] = json!(true);
        let before = Instant::now();
        let outcome = run(&job);
        prop_assert!(before.elapsed() < Duration::from_secs(5));
        prop_assert_eq!(outcome.attempts.len(), 6);
    }
}
