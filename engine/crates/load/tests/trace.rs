//! Attempts told one by one: what was sent, what was captured, and which expectation was missed.
#![allow(missing_docs)]

mod common;

use common::{Server, job, ok, run, status, with};
use serde_json::{Value, json};

fn told(server: &Server, steps: Value) -> Vec<Value> {
    let once = json!({"open": {"schedule": {"constant": {"rate": 1000}}, "calls": 1}});
    run(&with(job(&server.url(), once, steps), json!({"trace": 100}))).told
}

fn missed(body: &'static str, expect: Value) -> String {
    let server = Server::start(move |_| ok(body));
    let told = told(&server, json!([{"path": "/", "expect": expect}]));
    assert_eq!((told.len(), &told[0]["success"]), (1, &json!(false)));
    told[0]["missed"].as_str().unwrap().to_owned()
}

#[test]
fn a_trace_tells_each_request_with_what_was_captured() {
    let server = Server::start(|_| ok("{\"id\": 7}"));
    let told = told(
        &server,
        json!([
            {"name": "make", "method": "POST", "path": "/orders", "json": {"n": 1}, "capture": {"order": {"json": "$.id"}}},
            {"name": "look", "path": "/orders/${order}", "query": {"full": "yes"}},
        ]),
    );
    let of = |name: &str| told.iter().map(|one| one[name].clone()).collect::<Vec<_>>();
    assert_eq!(of("step"), [json!("make"), json!("look")]);
    assert_eq!(of("method"), [json!("POST"), json!("GET")]);
    let url = |path: &str| json!(format!("{}{path}", server.url()));
    assert_eq!(of("url"), [url("/orders"), url("/orders/7?full=yes")]);
    assert_eq!(of("captured"), [json!({"order": "7"}), json!({})]);
    assert_eq!(
        (of("status"), of("missed")),
        (vec![json!(200); 2], vec![Value::Null; 2])
    );
}

#[test]
fn a_trace_tells_the_first_expectation_that_an_answer_misses() {
    assert_eq!(
        missed("x", json!({"statuses": [201, "300-399"]})),
        "the status is 200, not 201, 300-399"
    );
    assert_eq!(
        missed("x", json!({"body_contains": "y"})),
        "the body doesn't contain \"y\""
    );
    assert_eq!(
        missed("x", json!({"body_matches": "^y+$"})),
        "the body doesn't match ^y+$"
    );
    let state = json!({"json": [{"path": "$.state", "equals": "done"}]});
    assert_eq!(
        missed("{\"state\": \"new\"}", state.clone()),
        "$.state is \"new\", not \"done\""
    );
    assert_eq!(missed("{}", state.clone()), "$.state is not in the body");
    assert!(missed("<p>", state).starts_with("the body is not JSON: "));
}

#[test]
fn a_trace_tells_a_capture_that_finds_nothing_and_shows_the_answer() {
    let server = Server::start(|_| ok("{\"name\": \"x\"}"));
    let told = told(
        &server,
        json!([{"path": "/", "capture": {"order": {"json": "$.id"}}}, {"path": "/${order}"}]),
    );
    assert_eq!(told.len(), 1);
    assert_eq!(told[0]["missed"], "nothing to capture as order");
    assert_eq!(told[0]["body"], "{\"name\": \"x\"}");
}

#[test]
fn a_trace_tells_what_a_call_that_asks_again_waits_for() {
    let server = Server::start(|seen| match seen.number {
        0 => status(202, "", ""),
        1 => ok("{\"state\": \"new\"}"),
        _ => ok("{\"state\": \"done\"}"),
    });
    let until = json!({"json": [{"path": "$.state", "equals": "done"}]});
    let poll = json!({"path": "/state", "every_us": 1000, "limit_us": 1_000_000, "until": until});
    let told = told(&server, json!([{"path": "/", "poll": poll}]));
    let missed: Vec<_> = told.iter().map(|one| one["missed"].clone()).collect();
    assert_eq!(
        missed,
        [
            Value::Null,
            json!("until: $.state is \"new\", not \"done\""),
            Value::Null
        ]
    );
}

#[test]
fn a_trace_tells_redirects_and_failures_of_connections() {
    let server = Server::start(|seen| match seen.path() {
        "/old" => status(302, "Location: /new\r\n", ""),
        "/new" => ok(""),
        _ => common::Reply::HangUp,
    });
    let told = told(
        &server,
        json!([{"path": "/old", "max_redirects": 1}, {"path": "/gone"}]),
    );
    let of = |name: &str| told.iter().map(|one| one[name].clone()).collect::<Vec<_>>();
    assert_eq!(
        of("outcome"),
        [json!("redirected"), json!("answered"), json!("connection_error")]
    );
    assert_eq!(
        of("url")[1..],
        [
            json!(format!("{}/new", server.url())),
            json!(format!("{}/gone", server.url()))
        ]
    );
    assert_eq!(told[2]["missed"], "closed");
}

#[test]
fn a_trace_is_as_long_as_the_job_says_and_absent_without() {
    let server = Server::start(|_| ok(""));
    let users = json!({"closed": {"users": 1, "until": {"calls_per_user": 5}}});
    let job = job(&server.url(), users, json!([{"path": "/"}]));
    assert_eq!(run(&job).told.len(), 0);
    assert_eq!(run(&with(job, json!({"trace": 3}))).told.len(), 3);
}
