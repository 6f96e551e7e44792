//! Journeys: what users say, remember and expect, against servers that follow a script.
#![allow(missing_docs)]

mod common;

use common::{Server, job, ok, run, status, with, wrong_paths};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::Mutex;

fn once(users: u32) -> Value {
    json!({"closed": {"users": users, "until": {"calls_per_user": 4}}})
}

/// A shop with sessions: what is not logged in is forbidden, and every cart belongs to one session.
fn shop() -> Server {
    let carts: Mutex<HashMap<String, Vec<String>>> = Mutex::new(HashMap::new());
    Server::start(move |seen| {
        let session = seen
            .header("cookie")
            .and_then(|cookie| cookie.strip_prefix("session="))
            .map(str::to_owned);
        let mut carts = carts.lock().unwrap();
        match (seen.path(), session) {
            ("/login", _) => {
                let name = seen.body.strip_prefix("name=").unwrap_or("?").to_owned();
                carts.insert(name.clone(), Vec::new());
                status(
                    200,
                    &format!("Set-Cookie: session={name}; HttpOnly\r\n"),
                    "{\"token\": \"t-1\"}",
                )
            }
            ("/items?page=2", Some(_)) => ok("{\"items\": [{\"id\": 41}, {\"id\": 42}]}"),
            ("/cart", Some(name)) if seen.header("x-token") == Some("t-1") => {
                let cart = carts.entry(name).or_default();
                cart.push(seen.body.clone());
                status(
                    201,
                    "Location: /carts/9\r\n",
                    &format!("{{\"count\": {}}}", cart.len()),
                )
            }
            ("/logout", Some(name)) => {
                let count = carts.remove(&name).map_or(0, |cart| cart.len());
                status(
                    204,
                    &format!("X-Count: {count}\r\nSet-Cookie: session=; Max-Age=0\r\n"),
                    "",
                )
            }
            _ => status(403, "", ""),
        }
    })
}

#[test]
fn users_log_in_browse_add_to_the_cart_and_log_out() {
    let server = shop();
    let steps = json!([
        {"name": "login", "method": "POST", "path": "/login", "form": {"name": "user${user}"}, "capture": {"token": {"json": "$.token"}}},
        {"name": "browse", "path": "/items", "query": {"page": "2"}, "capture": {"item": {"json": "$.items[1].id"}}},
        {"name": "add", "method": "POST", "path": "/cart", "headers": {"X-Token": "${token}"}, "json": {"item": "${item}"},
         "expect": {"statuses": [201], "json": [{"path": "$.count", "equals": 1}]}},
        {"name": "logout", "method": "POST", "path": "/logout", "expect": {"statuses": [204]}},
    ]);
    let mut job = job(&server.url(), once(3), steps);
    job["groups"][0]["journeys"][0]["cookies"] = json!(true);
    let outcome = run(&job);
    assert!(
        outcome.attempts.iter().all(|row| row.success),
        "{:?}",
        outcome.attempts
    );
    let steps: Vec<&str> = outcome
        .attempts
        .iter()
        .filter(|row| row.user == 1)
        .map(|row| row.step.as_str())
        .collect();
    assert_eq!(steps, ["login", "browse", "add", "logout"]);
    let seen = server.seen.lock().unwrap();
    let bodies: Vec<&str> = seen
        .iter()
        .filter(|seen| seen.path() == "/cart")
        .map(|seen| seen.body.as_str())
        .collect();
    assert_eq!(bodies, ["{\"item\":\"42\"}"; 3]);
    assert_eq!(outcome.summary["steps"].as_array().unwrap().len(), 4);
}

#[test]
fn asking_until_the_order_is_done_is_one_call_from_the_first_send_to_the_final_answer() {
    let asked: Mutex<HashMap<String, u32>> = Mutex::new(HashMap::new());
    let server = Server::start(move |seen| {
        if seen.path() == "/orders" {
            return status(
                202,
                "",
                &format!(
                    "{{\"id\": \"o-{}\"}}",
                    seen.header("x-correlation-id").unwrap_or("?")
                ),
            );
        }
        let mut asked = asked.lock().unwrap();
        let times = asked.entry(seen.path().to_owned()).or_default();
        *times += 1;
        ok(if *times < 3 {
            "{\"state\": \"pending\"}"
        } else {
            "{\"state\": \"done\"}"
        })
    });
    let steps = json!([{
        "name": "order", "method": "POST", "path": "/orders", "headers": {"X-Correlation-Id": "${uuid}"}, "capture": {"id": {"json": "$.id"}},
        "poll": {"path": "/orders/${id}", "every_us": 20_000, "limit_us": 5_000_000, "until": {"json": [{"path": "$.state", "equals": "done"}]}},
    }]);
    let workload = json!({"closed": {"users": 2, "until": {"calls_per_user": 2}}});
    let outcome = run(&job(&server.url(), workload, steps));
    assert_eq!(
        (
            outcome.attempts.len(),
            &outcome.summary["calls"],
            &outcome.summary["successes"]
        ),
        (16, &json!(4), &json!(4))
    );
    for user in 0..2 {
        let attempts: Vec<(u32, u16)> = outcome
            .attempts
            .iter()
            .filter(|row| row.user == user)
            .map(|row| (row.call, row.attempt))
            .collect();
        assert_eq!(
            attempts,
            [(0, 1), (0, 2), (0, 3), (0, 4), (1, 1), (1, 2), (1, 3), (1, 4)]
        );
    }
    // Three pauses lie between the first send and the final answer.
    let response = &outcome.summary["response_ms"]["p50"];
    assert!(response.as_f64().unwrap() >= 59.9, "{response}");
    assert!(outcome.summary["service_ms"]["p50"].as_f64().unwrap() < 60.0);
}

#[test]
fn asking_ends_at_its_limit_as_a_failed_expectation() {
    let server = Server::start(|_| ok("{\"state\": \"pending\"}"));
    let steps = json!([{"path": "/o", "poll": {"every_us": 20_000, "limit_us": 70_000, "until": {"json": [{"path": "$.state", "equals": "done"}]}}}]);
    let outcome = run(&job(
        &server.url(),
        json!({"closed": {"users": 1, "until": {"calls": 1}}}),
        steps,
    ));
    let last = outcome.attempts.last().unwrap();
    assert_eq!(
        (last.outcome.as_str(), last.success),
        ("expectation_failed", false)
    );
    assert!(
        outcome.attempts.iter().all(|row| row.intended_us <= 70_000),
        "{:?}",
        outcome.attempts
    );
    assert_eq!(outcome.summary["errors"], 1);
}

#[test]
fn an_answer_that_says_200_with_an_error_inside_is_a_failed_expectation() {
    let server = Server::start(|seen| {
        ok(if seen.number == 1 {
            "{\"error\": \"none left\"}"
        } else {
            "{\"ok\": true}"
        })
    });
    for expect in [
        json!({"json": [{"path": "$.ok", "equals": true}]}),
        json!({"body_contains": "\"ok\""}),
        json!({"body_matches": "o[k]\":"}),
    ] {
        let before = server.count();
        let outcome = run(&job(
            &server.url(),
            json!({"closed": {"users": 1, "until": {"calls": 3}}}),
            json!([{"expect": expect}]),
        ));
        let failed = outcome.with("expectation_failed");
        assert_eq!(failed.len(), usize::from(before == 0));
        assert!(failed.iter().all(|row| row.status == Some(200) && !row.success));
    }
}

#[test]
fn a_redirect_may_be_the_expected_answer() {
    let server = Server::start(|_| status(302, "Location: /x\r\n", ""));
    let steps = json!([{"expect": {"statuses": [302]}}]);
    let outcome = run(&job(
        &server.url(),
        json!({"closed": {"users": 1, "until": {"calls": 2}}}),
        steps,
    ));
    assert_eq!((&outcome.summary["successes"], server.count()), (&json!(2), 2));
}

#[test]
fn a_capture_that_finds_nothing_fails_the_expectation_and_ends_the_journey() {
    let server = Server::start(|seen| ok(if seen.number == 0 { "{}" } else { "{\"id\": 5}" }));
    let steps = json!([{"name": "a", "path": "/a", "capture": {"id": {"json": "$.id"}}}, {"name": "b", "path": "/b/${id}"}]);
    let outcome = run(&job(
        &server.url(),
        json!({"closed": {"users": 1, "until": {"calls": 3}}}),
        steps,
    ));
    let rows: Vec<_> = outcome
        .attempts
        .iter()
        .map(|row| (row.step.as_str(), row.outcome.as_str()))
        .collect();
    assert_eq!(
        rows,
        [("a", "expectation_failed"), ("a", "answered"), ("b", "answered")]
    );
    assert_eq!(server.seen.lock().unwrap()[2].path(), "/b/5");
}

#[test]
fn values_come_from_headers_regular_expressions_and_cookies_too() {
    let server = Server::start(|_| status(200, "X-Id: 7\r\nSet-Cookie: c=8\r\n", "id=9;"));
    let steps = json!([
        {"path": "/a", "capture": {"h": {"header": "x-id"}, "c": {"cookie": "c"}, "r": {"regex": "id=([0-9]+)"}}},
        {"path": "/${h}/${c}/${r}"},
    ]);
    run(&job(
        &server.url(),
        json!({"closed": {"users": 1, "until": {"calls": 2}}}),
        steps,
    ));
    assert_eq!(server.seen.lock().unwrap()[1].path(), "/7/8/9");
}

#[test]
fn a_feeder_gives_every_journey_a_line() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("names.csv");
    std::fs::write(&file, "name,city\nAnn,Ulm\nBob & Co,Bern\n").unwrap();
    let server = Server::start(|_| ok(""));
    let mut job = job(
        &server.url(),
        json!({"closed": {"users": 1, "until": {"calls": 3}}}),
        json!([{"path": "/p", "query": {"n": "${feed.name}", "c": "${feed.city}"}}]),
    );
    job["groups"][0]["feeder"] = json!({"file": file});
    run(&job);
    let paths: Vec<String> = server
        .seen
        .lock()
        .unwrap()
        .iter()
        .map(|seen| seen.path().to_owned())
        .collect();
    assert_eq!(
        paths,
        ["/p?n=Ann&c=Ulm", "/p?n=Bob%20%26%20Co&c=Bern", "/p?n=Ann&c=Ulm"]
    );
}

#[test]
fn steps_are_repeated_and_journeys_taken_by_weight() {
    let server = Server::start(|_| ok(""));
    let mut job = job(
        &server.url(),
        json!({"closed": {"users": 1, "until": {"calls": 40}}}),
        json!([]),
    );
    job["groups"][0]["journeys"] = json!([
        {"weight": 3, "steps": [{"name": "a", "repeat": 2}, {"name": "b"}]}, {"weight": 1, "steps": [{"name": "c"}]},
    ]);
    let outcome = run(&job);
    let count = |step: &str| outcome.attempts.iter().filter(|row| row.step == step).count();
    assert_eq!((count("a"), count("b"), count("c")), (24, 12, 4));
}

#[test]
fn steps_pause_and_open_arrivals_go_through_whole_journeys() {
    let server = Server::start(|_| ok(""));
    let workload = json!({"open": {"schedule": {"constant": {"rate": 100}}, "calls": 5}});
    let steps = json!([{"name": "a", "path": "/${call}"}, {"name": "b", "pause_us": 30_000}]);
    let outcome = run(&job(&server.url(), workload, steps));
    let of = |step: &str| {
        outcome
            .attempts
            .iter()
            .filter(|row| row.step == step)
            .cloned()
            .collect::<Vec<_>>()
    };
    assert_eq!((of("a").len(), of("b").len()), (5, 5));
    assert!(
        of("b")
            .iter()
            .all(|row| row.start_us >= row.intended_us && row.intended_us >= 30_000)
    );
    let mut calls: Vec<u32> = outcome.attempts.iter().map(|row| row.call).collect();
    calls.sort_unstable();
    assert_eq!(calls, (0..10).collect::<Vec<_>>());
}

#[test]
fn constants_and_counters_and_random_values_are_seeded() {
    let paths = |seed: u64| {
        let server = Server::start(|_| ok(""));
        let steps = json!([{"path": "/${round}/${counter:n}/${random:1-6}"}]);
        run(&with(
            job(
                &server.url(),
                json!({"closed": {"users": 1, "until": {"calls": 20}}}),
                steps,
            ),
            json!({"constants": {"round": "3"}, "seed": seed}),
        ));
        let seen = server.seen.lock().unwrap();
        seen.iter().map(|seen| seen.path().to_owned()).collect::<Vec<_>>()
    };
    let first = paths(1);
    assert!(first[0].starts_with("/3/0/") && first[19].starts_with("/3/19/"));
    assert_eq!(first, paths(1));
    assert_ne!(first, paths(2));
}

#[test]
fn what_can_be_known_to_be_wrong_with_a_journey_is_said_before_the_start() {
    let steps = json!([
        {"path": "/${id}", "capture": {"id": {"json": "$["}}},
        {"path": "/${later}", "body": "x", "json": {}, "expect": {"body_matches": "("}},
        {"path": "/x", "capture": {"user": {"header": "x"}, "later": {"xpath": "y"}}, "body_file": "none.txt", "poll": {"every_us": 1}},
    ]);
    let mut paths = wrong_paths(&job("http://127.0.0.1:1", once(1), steps));
    paths.sort();
    let at = |step: usize, field: &str| format!("groups[0].journeys[0].steps[{step}].{field}");
    let mut expected = vec![
        at(0, "path"),
        at(0, "capture.id.json"),
        at(1, "path"),
        at(1, "json"),
        at(1, "expect.body_matches"),
        at(2, "capture.user"),
        at(2, "capture.later.xpath"),
        at(2, "body_file"),
        at(2, "poll.limit_us"),
        at(2, "poll.until"),
    ];
    expected.sort();
    assert_eq!(paths, expected);
}

#[test]
fn json_bodies_hold_numbers_where_they_are_asked_for() {
    let server = Server::start(|seen| match seen.path() {
        "/price" => ok("{\"price\": 4.5, \"name\": \"tea\"}"),
        _ => ok(""),
    });
    let capture = |field: &str| json!({"name": "price", "path": "/price", "capture": {"price": {"json": format!("$.{field}")}}});
    let order = json!({"name": "order", "method": "POST", "path": "/order", "json": {"price": "${price|number}", "count": "${counter:n|number}", "text": "${price}"}});
    let outcome = run(&job(
        &server.url(),
        json!({"closed": {"users": 1, "until": {"calls": 2}}}),
        json!([capture("price"), order]),
    ));
    assert_eq!(outcome.summary["successes"], 2);
    let body = server.seen.lock().unwrap()[1].body.clone();
    assert_eq!(body, r#"{"price":4.5,"count":0,"text":"4.5"}"#);
    // A capture for a number that isn't one was not found: the call that captures has failed, and no order is sent.
    let outcome = run(&job(
        &server.url(),
        json!({"closed": {"users": 1, "until": {"calls": 1}}}),
        json!([capture("name"), order]),
    ));
    let steps: Vec<(&str, &str)> = outcome
        .attempts
        .iter()
        .map(|row| (row.step.as_str(), row.outcome.as_str()))
        .collect();
    assert_eq!(steps, [("price", "expectation_failed")]);
}

#[test]
fn a_feeder_without_the_numbers_that_a_body_wants_is_refused_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("prices.csv");
    std::fs::write(&file, "price\n4.5\ncheap\n").unwrap();
    let mut job = job(
        "http://127.0.0.1:1",
        once(1),
        json!([{"method": "POST", "json": {"price": "${feed.price|number}"}}]),
    );
    job["groups"][0]["feeder"] = json!({"file": file});
    let error = common::try_run(&job).err().unwrap().to_json().to_string();
    assert!(
        error.contains("\\\"cheap\\\" is not a number in line 3 of the feeder"),
        "{error}"
    );
}

#[test]
fn a_logout_with_a_date_of_the_past_ends_the_session_and_paths_are_kept_to() {
    let server = Server::start(|seen| match seen.path() {
        "/login" => status(
            200,
            "Set-Cookie: session=1; Path=/\r\nSet-Cookie: admin=2; Path=/admin\r\nSet-Cookie: safe=3; Path=/; Secure\r\n",
            "",
        ),
        "/logout" => status(
            200,
            "Set-Cookie: session=; Path=/; Expires=Thu, 01 Jan 1970 00:00:00 GMT\r\n",
            "",
        ),
        _ => ok(""),
    });
    let steps = json!([{"path": "/login"}, {"path": "/items"}, {"path": "/admin/x"}, {"path": "/logout"}, {"path": "/items"}]);
    let mut job = job(
        &server.url(),
        json!({"closed": {"users": 1, "until": {"calls": 5}}}),
        steps,
    );
    job["groups"][0]["journeys"][0]["cookies"] = json!(true);
    run(&job);
    let seen = server.seen.lock().unwrap();
    let cookies: Vec<Option<&str>> = seen.iter().map(|seen| seen.header("cookie")).collect();
    assert_eq!(
        cookies,
        [
            None,
            Some("session=1"),
            Some("admin=2; session=1"),
            Some("session=1"),
            None
        ]
    );
}
