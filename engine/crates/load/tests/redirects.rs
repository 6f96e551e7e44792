//! Redirects: followed only where the job points, and one attempt from the first send to the final answer.
#![allow(missing_docs)]

mod common;

use common::{Outcome, Reply, Server, job, ok, run, status, with, wrong_paths};
use serde_json::{Value, json};
use std::time::Duration;

fn calls(calls: u64) -> Value {
    json!({"closed": {"users": 1, "until": {"calls": calls}}})
}

fn to(code: u16, location: &str) -> Reply {
    status(code, &format!("Location: {location}\r\n"), "moved")
}

/// The lines of requests that a server saw, each with its body.
fn lines(server: &Server) -> Vec<String> {
    let seen = server.seen.lock().unwrap();
    let line = |seen: &common::Seen| format!("{} {}", seen.line.trim_end_matches(" HTTP/1.1"), seen.body);
    seen.iter().map(|seen| line(seen).trim().to_owned()).collect()
}

fn errors(outcome: &Outcome) -> &Value {
    &outcome.summary["redirect_errors"]
}

#[test]
fn a_login_that_redirects_twice_is_one_attempt_with_the_final_answer() {
    let server = Server::start(|seen| match seen.path() {
        "/login" => status(303, "Location: home\r\nSet-Cookie: session=s1; Path=/\r\n", ""),
        "/home" => to(301, "/home/?page=1"),
        "/home/?page=1" if seen.header("cookie") == Some("session=s1") => {
            common::after(Duration::from_millis(30), "{\"welcome\": true}")
        }
        _ => status(403, "", ""),
    });
    let step = json!([{"method": "POST", "path": "/login", "form": {"name": "a"}, "max_redirects": 5,
        "expect": {"statuses": [200], "json": [{"path": "$.welcome", "equals": true}]}}]);
    let mut job = job(&server.url(), calls(2), step);
    job["groups"][0]["journeys"][0]["cookies"] = json!(true);
    let outcome = run(&job);
    assert_eq!(
        lines(&server)[..3],
        ["POST /login name=a", "GET /home", "GET /home/?page=1"]
    );
    assert_eq!(outcome.attempts.len(), 2);
    for row in &outcome.attempts {
        assert_eq!(
            (row.attempt, row.status, row.success, row.bytes),
            (1, Some(200), true, Some(17))
        );
        // The first byte is the final answer's, which came after the delay.
        assert!(row.first_byte_us.unwrap() - row.start_us >= 30_000, "{row:?}");
    }
    assert_eq!(outcome.summary["redirects"], 4);
    assert_eq!(outcome.summary["steps"][0]["redirects"], 4);
    assert_eq!(outcome.summary["requests"], 2);
    assert_eq!(outcome.summary["statuses"], json!({"2xx": 2}));
}

#[test]
fn a_temporary_redirect_sends_the_same_body_again() {
    let server = Server::start(|seen| match seen.path() {
        "/old" => to(307, "/new"),
        _ => ok(""),
    });
    let step = json!([{"method": "PUT", "path": "/old", "body": "${uuid}", "max_redirects": 1}]);
    assert_eq!(run(&job(&server.url(), calls(1), step)).summary["successes"], 1);
    let lines = lines(&server);
    assert_eq!(lines[1], lines[0].replace("/old", "/new"));
    assert!(lines[1].starts_with("PUT /new "));
}

#[test]
fn without_the_field_a_redirect_is_an_answer_like_any_other() {
    let server = Server::start(|_| to(302, "/elsewhere"));
    let outcome = run(&job(&server.url(), calls(2), json!([{"path": "/"}])));
    assert_eq!((server.count(), &outcome.summary["successes"]), (2, &json!(2)));
    assert_eq!(outcome.attempts[0].status, Some(302));
}

#[test]
fn a_loop_ends_as_a_failure_of_its_own_kind() {
    let server = Server::start(|_| to(302, "/again"));
    let outcome = run(&job(
        &server.url(),
        calls(1),
        json!([{"path": "/", "max_redirects": 3}]),
    ));
    let row = &outcome.attempts[0];
    assert_eq!(
        (row.outcome.as_str(), row.status, row.success),
        ("expectation_failed", Some(302), false)
    );
    assert_eq!(server.count(), 4);
    assert_eq!(
        errors(&outcome),
        &json!({"too_many": 1, "foreign": 0, "unreadable": 0})
    );
    assert_eq!(outcome.summary["redirects"], 3);
    assert!(outcome.has_doubt("redirects_not_followed"));
}

#[test]
fn nothing_is_sent_to_where_the_job_does_not_point() {
    let foreign = Server::start(|_| ok("secret"));
    let url = foreign.url();
    let server = Server::start(move |_| to(302, &format!("{url}/x")));
    let outcome = run(&job(
        &server.url(),
        calls(2),
        json!([{"path": "/", "max_redirects": 3}]),
    ));
    assert_eq!(foreign.count(), 0);
    assert_eq!(outcome.with("expectation_failed").len(), 2);
    assert_eq!(errors(&outcome)["foreign"], 2);
    let doubts = outcome.summary["doubts"].as_array().unwrap();
    let text = doubts
        .iter()
        .find(|doubt| doubt["name"] == "redirects_not_followed")
        .unwrap();
    assert!(
        text["message"].as_str().unwrap().contains(&foreign.url()),
        "{text}"
    );
}

#[test]
fn another_target_of_the_job_may_be_gone_to() {
    let second = Server::start(|seen| ok(seen.header("host").unwrap_or("?")));
    let url = second.url();
    let first = Server::start(move |_| to(308, &format!("{url}/x")));
    let targets = json!([{"url": first.url()}, {"url": second.url(), "weight": 0}]);
    let step =
        json!([{"path": "/", "max_redirects": 1, "expect": {"body_contains": second.address.to_string()}}]);
    let outcome = run(&with(
        job(&first.url(), calls(3), step),
        json!({"targets": targets}),
    ));
    assert_eq!(outcome.summary["successes"], 3, "{:?}", outcome.attempts);
    assert_eq!((first.count(), second.count()), (3, 3));
}

/// The secret headers that a server saw, in the order of its requests.
fn secrets(server: &Server) -> Vec<[Option<String>; 2]> {
    let seen = server.seen.lock().unwrap();
    let header = |seen: &common::Seen, name| seen.header(name).map(str::to_owned);
    seen.iter()
        .map(|seen| [header(seen, "authorization"), header(seen, "cookie")])
        .collect()
}

/// A server that logs in and sends on to another, seen under `host`; what both were sent at each request.
fn across(host: &str) -> [Vec<[Option<String>; 2]>; 2] {
    let second = Server::start(|_| ok(""));
    let url = format!("http://{host}:{}", second.address.port());
    let place = url.clone();
    let first = Server::start(move |seen| match seen.path() {
        "/login" => status(200, "Set-Cookie: s=1; Path=/\r\n", ""),
        _ => to(307, &format!("{place}/x")),
    });
    let targets = json!([{"url": first.url()}, {"url": url, "weight": 0}]);
    let step =
        |path: &str| json!({"path": path, "max_redirects": 1, "headers": {"Authorization": "Bearer t"}});
    let steps = json!([step("/login"), step("/go")]);
    let mut job = with(job(&first.url(), calls(2), steps), json!({"targets": targets}));
    job["groups"][0]["journeys"][0]["cookies"] = json!(true);
    assert_eq!(run(&job).summary["successes"], 2);
    [secrets(&first), secrets(&second)]
}

#[test]
fn a_redirect_to_another_host_takes_neither_its_cookies_nor_its_authorization() {
    let [first, second] = across("localhost");
    let (token, cookie) = (Some("Bearer t".to_owned()), Some("s=1".to_owned()));
    assert_eq!(first, [[token.clone(), None], [token, cookie]]);
    assert_eq!(second, [[None, None]]);
}

#[test]
fn a_redirect_to_another_port_takes_its_cookies_and_not_its_authorization() {
    let [_, second] = across("127.0.0.1");
    assert_eq!(second, [[None, Some("s=1".to_owned())]]);
}

#[test]
fn targets_that_share_the_load_share_cookies_only_when_they_have_one_host() {
    for (host, expected) in [
        ("localhost", [None, None]),
        ("127.0.0.1", [Some("s=1"), Some("s=1")]),
    ] {
        let second = Server::start(|_| ok(""));
        let first = Server::start(|_| status(200, "Set-Cookie: s=1; Path=/\r\n", ""));
        let targets =
            json!([{"url": first.url()}, {"url": format!("http://{host}:{}", second.address.port())}]);
        let mut job = with(
            job(&first.url(), calls(4), json!([{"path": "/"}])),
            json!({"targets": targets}),
        );
        job["groups"][0]["journeys"][0]["cookies"] = json!(true);
        run(&job);
        let seen = second.seen.lock().unwrap();
        let cookies: Vec<Option<&str>> = seen.iter().map(|seen| seen.header("cookie")).collect();
        assert_eq!(cookies, expected, "{host}");
    }
}

#[test]
fn a_connection_that_is_closed_with_the_redirect_is_opened_anew() {
    let server = Server::start(|seen| match seen.path() {
        "/" => status(302, "Location: /new\r\nConnection: close\r\n", ""),
        _ => ok(""),
    });
    let outcome = run(&job(
        &server.url(),
        calls(3),
        json!([{"path": "/", "max_redirects": 1}]),
    ));
    assert_eq!(outcome.summary["successes"], 3);
}

#[test]
fn the_timeout_bounds_all_hops_together() {
    let server = Server::start(|_| match to(302, "/again") {
        Reply::Send(_, text) => Reply::Send(Duration::from_millis(40), text),
        Reply::HangUp => Reply::HangUp,
    });
    let step = json!([{"path": "/", "max_redirects": 20, "timeout_us": 100_000}]);
    let outcome = run(&job(&server.url(), calls(1), step));
    let row = &outcome.attempts[0];
    assert_eq!((row.outcome.as_str(), row.status), ("timeout", None));
    assert!(server.count() <= 3, "{}", server.count());
}

#[test]
fn a_retry_sees_the_final_answer_and_begins_from_the_first_request() {
    let server = Server::start(|seen| match (seen.path(), seen.number) {
        ("/", _) => to(302, "/new"),
        (_, 1) => status(503, "", ""),
        _ => ok(""),
    });
    let retry = json!([{"retry": {"max_attempts": 2, "backoff": {"fixed": {"delay_us": 1000}}}}]);
    let step = json!([{"path": "/", "max_redirects": 1}]);
    let outcome = run(&with(
        job(&server.url(), calls(1), step),
        json!({"policies": retry}),
    ));
    let statuses: Vec<_> = outcome
        .attempts
        .iter()
        .map(|row| (row.attempt, row.status))
        .collect();
    assert_eq!(statuses, [(1, Some(503)), (2, Some(200))]);
    assert_eq!(lines(&server), ["GET /", "GET /new", "GET /", "GET /new"]);
}

#[test]
fn asking_again_follows_redirects_too() {
    let server = Server::start(|seen| match seen.path() {
        "/order" => status(202, "", ""),
        "/state" => to(302, "/result"),
        _ => ok("done"),
    });
    let step = json!([{"path": "/order", "max_redirects": 1, "poll": {"path": "/state", "every_us": 1000, "limit_us": 1_000_000, "until": {"body_contains": "done"}}}]);
    let outcome = run(&job(&server.url(), calls(1), step));
    assert_eq!(
        (outcome.attempts.len(), &outcome.summary["successes"]),
        (2, &json!(1))
    );
}

#[test]
fn more_redirects_than_anybody_needs_are_refused() {
    let job = job("http://127.0.0.1:1", calls(1), json!([{"max_redirects": 21}]));
    assert_eq!(
        wrong_paths(&job),
        ["groups[0].journeys[0].steps[0].max_redirects"]
    );
}
