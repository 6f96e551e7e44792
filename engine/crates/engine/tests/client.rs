//! The native client keeps the client contract, against a server that fails in a known pattern.

mod common;

use common::script::{Act, Scripted};
use common::{Served, agent, get, post};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::time::{Duration, Instant};

const MS: u64 = 1_000;

fn client() -> Served {
    Served::start(&["client"])
}

/// A round with one user, one success and no pause, to be changed by the test.
fn round(target: &str, strategy: Value) -> Value {
    json!({
        "contract": 1,
        "target": target,
        "request": {"method": "GET", "path": "/x?y=1", "headers": {}, "body": null, "timeout_us": 5_000_000},
        "users": 1,
        "think_time_us": 0,
        "successes": 1,
        "max_attempts": null,
        "rejected_pause_us": 1000,
        "time_limit_us": 20_000_000,
        "seed": 1,
        "strategy": strategy,
    })
}

fn with(mut round: Value, changes: Value) -> Value {
    for (path, value) in changes.as_object().unwrap() {
        *round.pointer_mut(path).unwrap_or_else(|| panic!("no {path}")) = value.clone();
    }
    round
}

fn retry(max_attempts: u64, backoff: Value) -> Value {
    json!({"retry": {"max_attempts": max_attempts, "backoff": backoff, "jitter": "none"}})
}

fn breaker(scope: &str, open_for_us: u64) -> Value {
    json!({"circuit_breaker": {
        "failure_rate": 100, "slow_call": null, "window": {"calls": 2}, "minimum_calls": 2,
        "open_for_us": open_for_us, "half_open_calls": 1, "scope": scope,
    }})
}

#[derive(Debug)]
struct Row {
    user: u64,
    call: u64,
    attempt: u64,
    start_us: u64,
    duration_us: u64,
    outcome: Value,
}

impl Row {
    fn end_us(&self) -> u64 {
        self.start_us + self.duration_us
    }
}

/// Runs a round to its end; its rows, and the last line.
fn rows(client: &Served, round: &Value) -> (Vec<Row>, Value) {
    let (status, text) = post(&client.at("/rounds"), &round.to_string());
    assert_eq!(status, 200, "{text}");
    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let (last, batches) = lines.split_last().unwrap();
    let rows: Vec<Row> = batches.iter().flat_map(batch).collect();
    if let Some(end) = last.get("end") {
        assert_eq!(end["rows"].as_u64().unwrap() as usize, rows.len());
        assert!(
            rows.iter()
                .all(|row| row.end_us() <= end["duration_us"].as_u64().unwrap())
        );
    }
    (rows, last.clone())
}

fn batch(line: &Value) -> Vec<Row> {
    let column = |name: &str| {
        line["batch"][name]
            .as_array()
            .unwrap_or_else(|| panic!("{line}"))
            .clone()
    };
    let outcomes = column("outcome");
    assert!((1..=10_000).contains(&outcomes.len()));
    let numbers = ["user", "call", "attempt", "start_us", "duration_us"].map(column);
    assert!(numbers.iter().all(|column| column.len() == outcomes.len()));
    let row = |(place, outcome): (usize, &Value)| {
        let [user, call, attempt, start_us, duration_us] =
            numbers.each_ref().map(|column| column[place].as_u64().unwrap());
        Row {
            user,
            call,
            attempt,
            start_us,
            duration_us,
            outcome: outcome.clone(),
        }
    };
    outcomes.iter().enumerate().map(row).collect()
}

/// (call, attempt, outcome) of each row.
fn story(rows: &[Row]) -> Vec<(u64, u64, Value)> {
    rows.iter()
        .map(|row| (row.call, row.attempt, row.outcome.clone()))
        .collect()
}

#[test]
fn a_baseline_makes_one_attempt_a_call_until_it_has_its_successes() {
    let server = Scripted::start(&[
        Act::Status(200),
        Act::Status(503),
        Act::Status(302),
        Act::Status(404),
    ]);
    let baseline = with(
        round(&server.url, json!({"baseline": {}})),
        json!({"/successes": 3}),
    );
    let (rows, last) = rows(&client(), &baseline);
    let wanted = [200, 503, 302, 404, 200].iter().enumerate();
    assert_eq!(
        story(&rows),
        wanted
            .map(|(call, status)| (call as u64, 1, json!(status)))
            .collect::<Vec<_>>()
    );
    assert_eq!(server.requests().len(), 5, "redirects are not followed");
    assert_eq!(server.connections(), 1, "one connection, kept alive");
    assert!(last["end"]["cpu_us"].as_u64().unwrap() > 0);
}

#[test]
fn the_request_is_sent_as_described() {
    let server = Scripted::start(&[Act::Status(200)]);
    let client = client();
    for (method, body) in [
        ("GET", Value::Null),
        ("GET", json!("hi")),
        ("POST", json!("hi")),
        ("DELETE", json!("hi")),
    ] {
        let change =
            json!({"/request/method": method, "/request/body": body, "/request/headers": {"X-A": "b c"}});
        rows(
            &client,
            &with(round(&server.url, json!({"baseline": {}})), change),
        );
        let request = server.requests().pop().unwrap();
        assert!(
            request.starts_with(&format!("{method} /x?y=1 HTTP/1.1\r\n")),
            "{request}"
        );
        assert!(request.contains("\r\nX-A: b c\r\n"), "{request}");
        assert!(
            request.ends_with(&format!("\r\n\r\n{}", body.as_str().unwrap_or(""))),
            "{request}"
        );
    }
}

#[test]
fn an_answer_to_head_is_whole_without_the_body_that_it_announces() {
    let server = Scripted::start(&[Act::HeadAlone]);
    let head = with(
        round(&server.url, json!({"baseline": {}})),
        json!({"/request/method": "HEAD", "/successes": 3}),
    );
    let (attempts, _) = rows(&client(), &head);
    let outcomes: Vec<&Value> = attempts.iter().map(|row| &row.outcome).collect();
    assert_eq!(outcomes, [&json!(200), &json!(200), &json!(200)]);
    assert_eq!(server.connections(), 1);
}

#[test]
fn a_retry_makes_exactly_the_attempts_that_it_needs_on_its_schedule() {
    let server = Scripted::start(&[Act::Status(503), Act::Status(500), Act::Status(200)]);
    let backoff = json!({"exponential": {"initial_us": 20 * MS, "multiplier": 1.5, "max_us": null}});
    let (rows, _) = rows(
        &client(),
        &with(round(&server.url, retry(6, backoff)), json!({"/successes": 2})),
    );
    let wanted = [
        (0, 1, 503),
        (0, 2, 500),
        (0, 3, 200),
        (1, 1, 503),
        (1, 2, 500),
        (1, 3, 200),
    ];
    assert_eq!(
        story(&rows),
        wanted.map(|(call, attempt, status)| (call, attempt, json!(status)))
    );
    assert_eq!(server.requests().len(), 6);
    for call in rows.chunks(3) {
        assert!(call[1].start_us - call[0].end_us() >= 20 * MS, "{call:?}");
        assert!(call[2].start_us - call[1].end_us() >= 30 * MS, "{call:?}");
    }
}

#[test]
fn the_back_off_follows_the_shared_vectors() {
    let vectors = format!(
        "{}/../../../contracts/client/vectors/backoff.json",
        env!("CARGO_MANIFEST_DIR")
    );
    let vectors: Value = serde_json::from_str(&std::fs::read_to_string(vectors).unwrap()).unwrap();
    let server = Scripted::start(&[Act::Status(503)]);
    let client = client();
    for case in vectors["cases"].as_array().unwrap() {
        let delays: Vec<u64> = case["delays_us"]
            .as_array()
            .unwrap()
            .iter()
            .map(|d| d.as_u64().unwrap())
            .collect();
        let attempts = delays.len() as u64 + 1;
        let failing = round(&server.url, retry(attempts, case["backoff"].clone()));
        let (rows, _) = rows(
            &client,
            &with(failing, json!({"/successes": null, "/max_attempts": 1})),
        );
        assert_eq!(rows.len() as u64, attempts, "{}", case["name"]);
        for (pair, delay) in rows.windows(2).zip(delays) {
            let gap = pair[1].start_us - pair[0].end_us();
            assert!(gap >= delay, "{}: {gap} us instead of {delay}", case["name"]);
        }
    }
}

#[test]
fn a_call_that_has_begun_is_finished_although_the_attempts_are_used_up() {
    let server = Scripted::start(&[Act::Status(503)]);
    let failing = round(&server.url, retry(3, json!({"fixed": {"delay_us": 0}})));
    let (rows, _) = rows(
        &client(),
        &with(failing, json!({"/max_attempts": 4, "/users": 2})),
    );
    for user in [0, 1] {
        assert_eq!(
            rows.iter().filter(|row| row.user == user).count(),
            6,
            "two calls of three attempts"
        );
    }
}

#[test]
fn failures_are_told_apart_and_retried_alike() {
    let acts = [
        Act::Close,
        Act::Garbage,
        Act::HalfABody,
        Act::Hang,
        Act::Chunked(200),
        Act::Hang,
        Act::Status(204),
    ];
    let server = Scripted::start(&acts);
    let order = round(&server.url, retry(5, json!({"fixed": {"delay_us": 0}})));
    let change = json!({"/successes": 2, "/request/timeout_us": 200 * MS});
    let (rows, _) = rows(&client(), &with(order, change));
    let broken = || json!("connection_error");
    let wanted = [
        (0, 1, broken()),
        (0, 2, broken()),
        (0, 3, broken()),
        (0, 4, json!("timeout")),
        (0, 5, json!(200)),
        (1, 1, json!("timeout")),
        (1, 2, json!(204)),
    ];
    assert_eq!(story(&rows), wanted);
    assert!(rows[3].duration_us >= 199 * MS, "{rows:?}");
    assert!(rows[4].duration_us >= 30 * MS, "to the last byte: {rows:?}");
}

#[test]
fn nobody_listening_is_a_connection_error() {
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let order = round(&format!("http://{port}"), json!({"baseline": {}}));
    let (rows, _) = rows(&client(), &with(order, json!({"/max_attempts": 3})));
    assert_eq!(
        story(&rows),
        [0, 1, 2].map(|call| (call, 1, json!("connection_error")))
    );
}

#[test]
fn an_open_breaker_rejects_without_attempts_and_without_spinning() {
    let server = Scripted::start(&[Act::Status(503), Act::Status(503), Act::Status(200)]);
    let order = round(&server.url, breaker("client", 50 * MS));
    let (rows, _) = rows(&client(), &with(order, json!({"/rejected_pause_us": 5 * MS})));
    let (attempts, rejected): (Vec<&Row>, Vec<&Row>) = rows.iter().partition(|row| row.attempt == 1);
    assert_eq!(
        attempts.iter().map(|row| row.outcome.clone()).collect::<Vec<_>>(),
        [503, 503, 200]
    );
    assert_eq!(server.requests().len(), 3);
    assert!(
        rejected
            .iter()
            .all(|row| row.attempt == 0 && row.duration_us == 0 && row.outcome == "rejected")
    );
    assert!(
        (1..=11).contains(&rejected.len()),
        "50 ms in pauses of 5: {}",
        rejected.len()
    );
    assert!(attempts[2].start_us - attempts[1].end_us() >= 50 * MS);
    let calls: Vec<u64> = rows.iter().map(|row| row.call).collect();
    assert_eq!(
        calls,
        (0..rows.len() as u64).collect::<Vec<_>>(),
        "a rejected call is a call"
    );
}

#[test]
fn a_breaker_is_of_one_user_or_of_all() {
    let client = client();
    let attempts = |scope| {
        let server = Scripted::start(&[Act::Status(503)]);
        let order = round(&server.url, breaker(scope, 60_000 * MS));
        rows(
            &client,
            &with(order, json!({"/users": 4, "/time_limit_us": 300 * MS})),
        );
        server.requests().len()
    };
    assert_eq!(attempts("user"), 8, "each user's own breaker needs two failures");
    // The others may have been on their way when the second failure came in.
    assert!((2..=5).contains(&attempts("client")));
}

#[test]
fn breakers_are_new_in_every_round() {
    let server = Scripted::start(&[Act::Status(503)]);
    let client = client();
    let order = with(
        round(&server.url, breaker("client", 60_000 * MS)),
        json!({"/time_limit_us": 50 * MS}),
    );
    for _ in 0..2 {
        let (rows, _) = rows(&client, &order);
        assert_eq!(rows.iter().filter(|row| row.attempt == 1).count(), 2);
    }
}

#[test]
fn users_think_between_calls_and_stop_at_the_time_limit() {
    let server = Scripted::start(&[Act::Status(200)]);
    let change =
        json!({"/successes": null, "/think_time_us": 20 * MS, "/time_limit_us": 150 * MS, "/users": 3});
    let (rows, _) = rows(
        &client(),
        &with(round(&server.url, json!({"baseline": {}})), change),
    );
    for user in 0..3 {
        let of_user: Vec<&Row> = rows.iter().filter(|row| row.user == user).collect();
        assert!((2..=8).contains(&of_user.len()), "{}", of_user.len());
        assert!(
            of_user
                .windows(2)
                .all(|pair| pair[1].start_us - pair[0].end_us() >= 20 * MS)
        );
        assert!(of_user.iter().all(|row| row.start_us < 150 * MS));
    }
    assert_eq!(server.connections(), 3, "one a user");
}

#[test]
fn nobody_thinks_beyond_the_time_limit() {
    let server = Scripted::start(&[Act::Status(200)]);
    let change = json!({"/successes": null, "/think_time_us": 3_600_000 * MS, "/time_limit_us": 100 * MS});
    let (rows, last) = rows(
        &client(),
        &with(round(&server.url, json!({"baseline": {}})), change),
    );
    assert_eq!(rows.len(), 1);
    assert!(
        (100 * MS..10_000 * MS).contains(&last["end"]["duration_us"].as_u64().unwrap()),
        "{last}"
    );
}

#[test]
fn many_rows_come_in_batches_and_in_order() {
    let target = Served::start(&["target", "--service-time", "fixed:0ms"]);
    let change = json!({"/users": 20, "/successes": 600, "/request/path": "/bytes/100"});
    let (rows, _) = rows(
        &client(),
        &with(round(&target.url, json!({"baseline": {}})), change),
    );
    assert_eq!(rows.len(), 12_000);
    for user in 0..20 {
        let of_user: Vec<&Row> = rows.iter().filter(|row| row.user == user).collect();
        assert!(
            of_user
                .iter()
                .enumerate()
                .all(|(call, row)| row.call == call as u64)
        );
        assert!(
            of_user
                .windows(2)
                .all(|pair| pair[0].end_us() <= pair[1].start_us),
            "in order of time"
        );
    }
}

#[test]
fn a_second_round_is_refused_while_the_first_runs_and_an_abandoned_round_ends_within_a_second() {
    let server = Scripted::start(&[Act::Hang]);
    let client = client();
    let order = with(
        round(&server.url, json!({"baseline": {}})),
        json!({"/users": 5, "/request/timeout_us": 15_000 * MS}),
    );
    let first = agent()
        .post(client.at("/rounds"))
        .send(order.to_string())
        .unwrap();
    common::eventually("all users wait for an answer", || server.requests().len() == 5);
    let (status, text) = post(&client.at("/rounds"), &order.to_string());
    assert_eq!(status, 409, "{text}");
    assert!(serde_json::from_str::<Value>(&text).unwrap()["error"].is_string());
    drop(first);
    let free = Scripted::start(&[Act::Status(200)]);
    let next = round(&free.url, json!({"baseline": {}})).to_string();
    // That waits for ten seconds, and the attempts that were abandoned could wait for longer.
    common::eventually("the client is free", || {
        post(&client.at("/rounds"), &next).0 == 200
    });
    assert_eq!(
        server.requests().len(),
        5,
        "nothing is sent after the round was abandoned"
    );
}

#[test]
fn rows_come_while_the_round_runs() {
    let server = Scripted::start(&[Act::Status(200), Act::After(20_000, 200)]);
    let client = client();
    let order = with(
        round(&server.url, json!({"baseline": {}})),
        json!({"/successes": 2}),
    );
    let mut stream = agent()
        .post(client.at("/rounds"))
        .send(order.to_string())
        .unwrap();
    assert_eq!(
        stream.headers()["content-type"].as_bytes(),
        b"application/x-ndjson"
    );
    let started = Instant::now();
    let mut line = String::new();
    BufReader::new(stream.body_mut().as_reader())
        .read_line(&mut line)
        .unwrap();
    assert!(line.starts_with("{\"batch\""), "{line}");
    assert!(
        started.elapsed() < Duration::from_secs(10),
        "before the second answer"
    );
}

#[test]
fn a_name_that_is_not_known_is_said_in_the_last_line() {
    let (rows, last) = rows(
        &client(),
        &round("http://no-such-host.invalid:1", json!({"baseline": {}})),
    );
    assert!(rows.is_empty());
    assert!(
        last["error"]
            .as_str()
            .unwrap()
            .contains("no-such-host.invalid can't be resolved"),
        "{last}"
    );
}

/// A value is what stood in the round: the number 0, and not the text "0", which another round could have.
#[test]
fn a_problem_has_the_value_of_its_field_as_it_stood_in_the_round() {
    let client = client();
    for value in [
        json!(0),
        json!(-1.5),
        json!("two"),
        json!([2]),
        json!({"a": 1}),
        json!(true),
    ] {
        let wrong = with(
            round("http://127.0.0.1:1", json!({"baseline": {}})),
            json!({"/users": value}),
        );
        let (_, answer) = post(&client.at("/check"), &wrong.to_string());
        let answer: Value = serde_json::from_str(&answer).unwrap();
        assert_eq!(answer["problems"][0]["path"], "users", "{answer}");
        assert_eq!(answer["problems"][0]["value"], value, "{answer}");
    }
}

#[test]
fn a_round_with_problems_is_refused_with_all_of_them() {
    let client = client();
    let mut wrong = with(
        round("https://127.0.0.1:1", breaker("all", 0)),
        json!({"/users": 0, "/request/method": "BREW", "/strategy/circuit_breaker/minimum_calls": 3}),
    );
    wrong["usres"] = json!(3);
    let (status, checked) = post(&client.at("/check"), &wrong.to_string());
    assert_eq!(status, 200);
    let checked: Value = serde_json::from_str(&checked).unwrap();
    let mut paths: Vec<&str> = checked["problems"]
        .as_array()
        .unwrap()
        .iter()
        .map(|problem| problem["path"].as_str().unwrap())
        .collect();
    paths.sort_unstable();
    let breaker =
        ["minimum_calls", "open_for_us", "scope"].map(|name| format!("strategy.circuit_breaker.{name}"));
    let mut wanted = vec!["request.method", "target", "users", "usres"];
    wanted.extend(breaker.iter().map(String::as_str));
    wanted.sort_unstable();
    assert_eq!(paths, wanted);
    let (status, refused) = post(&client.at("/rounds"), &wrong.to_string());
    assert_eq!(
        (status, serde_json::from_str::<Value>(&refused).unwrap()),
        (422, checked)
    );
}

#[test]
fn what_is_not_json_is_a_problem_too() {
    let client = client();
    for body in ["", "{", "[]", "null", "{\"contract\": 2}"] {
        let (status, text) = post(&client.at("/check"), body);
        let answer: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(status, 200, "{body}");
        assert!(!answer["problems"].as_array().unwrap().is_empty(), "{body}");
        assert_eq!(post(&client.at("/rounds"), body).0, 422, "{body}");
    }
}

#[test]
fn the_client_says_who_it_is_and_what_it_serves() {
    let client = client();
    let (status, text) = get(&client.at("/client"));
    let description: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        (status, &description["contract"], &description["name"]),
        (200, &json!(1), &json!("native"))
    );
    assert_eq!(
        description["strategies"],
        json!(["baseline", "retry", "circuit_breaker"])
    );
    assert_eq!(get(&client.at("/nowhere")).0, 404);
    assert_eq!(get(&client.at("/rounds")).0, 405);
}
