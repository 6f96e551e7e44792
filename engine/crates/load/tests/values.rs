//! Lists of generated entries, steps for each of several captured values, counted answers, journeys and items in the log.
#![allow(missing_docs)]

mod common;

use common::simulated::{MS, URL, simulate};
use common::{Outcome, Server, job, ok, run, status, with, wrong_paths};
use patternbench_attemptlog::Row;
use serde_json::{Value, json};

const ONCE: fn() -> Value = || json!({"closed": {"users": 1, "until": {"journeys_per_user": 1}}});

/// What a server saw of one journey: method, path and body of each request.
fn walked(server: &Server, steps: Value, more: Value) -> (Outcome, Vec<(String, String)>) {
    let outcome = run(&with(job(&server.url(), ONCE(), steps), more));
    let seen = server.seen.lock().unwrap();
    let seen = seen
        .iter()
        .map(|seen| (seen.path().to_owned(), seen.body.clone()));
    (outcome, seen.collect())
}

#[test]
fn what_is_put_into_a_list_is_escaped_where_the_list_is() {
    let token = "a b&\"c\"/50%";
    let answer = json!({"token": token}).to_string();
    let server = Server::start(move |_| ok(&answer));
    let more = json!({
        "values": {"given": token},
        "lists": {
            "texts": {"count": 1, "of": "${given}, ${token} or \"é\""},
            "bundle": {"count": 1, "of": {"given": "${given}", "${token}": ["${token}"]}},
        },
    });
    let steps = json!([
        {"path": "/in", "capture": {"token": {"json": "$.token"}}},
        {"path": "/of/${texts}", "query": {"q": "${texts}", "own é": "1 %41 é&"}},
        {"method": "POST", "path": "/b", "json": {"texts": "${texts}", "list": "${texts|json}", "bundle": "${bundle|json}"}},
        {"method": "POST", "path": "/f", "form": {"q": "${texts}", "kept": "$${given} %41"}},
        {"method": "POST", "path": "/r", "body": "${texts}"},
    ]);
    let (_, seen) = walked(&server, steps, more);
    let texts = format!("{token}, {token} or \"é\"");
    let put = "a%20b%26%22c%22%2F50%25";
    let joined = format!("{put}%2C%20{put}%20or%20%22%C3%A9%22");
    let in_path = "a%20b&%22c%22/50%25";
    assert_eq!(
        seen[1].0,
        format!("/of/{in_path},%20{in_path}%20or%20%22%C3%A9%22?q={joined}&own%20%C3%A9=1%20%41%20%C3%A9%26")
    );
    let body: Value = serde_json::from_str(&seen[2].1).unwrap();
    let bundle = json!([{"given": token, (token): [token]}]);
    assert_eq!(body, json!({"texts": texts, "list": [texts], "bundle": bundle}));
    assert_eq!(seen[3].1, format!("q={joined}&kept=%24%7Bgiven%7D%20%2541"));
    assert_eq!(seen[4].1, texts);
}

/// Servers read a body by its type: one without it is refused with 415, or taken for nothing.
#[test]
fn a_body_says_what_it_is_unless_the_study_says_it() {
    let server = Server::start(|_| ok(""));
    let own = json!({"content-type": "application/merge-patch+json"});
    let steps = json!([
        {"method": "POST", "path": "/json", "json": {"a": 1}},
        {"method": "POST", "path": "/form", "form": {"a": "1"}},
        {"method": "POST", "path": "/text", "body": "a"},
        {"method": "PATCH", "path": "/own", "json": {"a": 1}, "headers": own},
        {"path": "/none"},
    ]);
    run(&job(&server.url(), ONCE(), steps));
    let seen = server.seen.lock().unwrap();
    let types: Vec<Option<&str>> = seen.iter().map(|seen| seen.header("content-type")).collect();
    let (as_json, as_form) = ("application/json", "application/x-www-form-urlencoded");
    let merged = "application/merge-patch+json";
    assert_eq!(types, [Some(as_json), Some(as_form), None, Some(merged), None]);
    let lines = |name: &str| name.eq_ignore_ascii_case("content-type");
    let said = seen[3]
        .headers
        .lines()
        .filter(|line| line.split(':').next().is_some_and(lines));
    assert_eq!(said.count(), 1);
}

#[test]
fn a_list_is_filled_in_entry_by_entry_in_paths_and_bodies() {
    let server = Server::start(|_| ok(""));
    let lists = json!({"lists": {
        "ids": {"count": 3, "of": "C${cycle:1-4}"},
        "bundle": {"count": 2, "of": {"id": "${item|number}", "name": "u${user}-${item}", "in": ["${counter:n|number}"]}},
    }});
    let steps = json!([
        {"path": "/customers/${ids}"},
        {"path": "/customers", "query": {"ids": "${ids}"}},
        {"method": "POST", "path": "/bundle", "json": {"items": "${bundle|json}", "ids": "${ids|json}"}},
    ]);
    let (_, seen) = walked(&server, steps, lists);
    assert_eq!(seen[0].0, "/customers/C1,C2,C3");
    assert_eq!(seen[1].0, "/customers?ids=C4%2CC1%2CC2");
    let body: Value = serde_json::from_str(&seen[2].1).unwrap();
    let items = json!([{"id": 0, "name": "u0-0", "in": [0]}, {"id": 1, "name": "u0-1", "in": [1]}]);
    assert_eq!(body, json!({"items": items, "ids": ["C3", "C4", "C1"]}));
}

#[test]
fn a_step_is_taken_for_each_value_of_a_captured_list_and_left_out_for_an_empty_one() {
    let server = Server::start(|seen| match seen.path() {
        "/all" => ok(r#"{"items": [{"id": 7}, {"id": "a/b"}, {"id": null}, {"id": 9}], "none": []}"#),
        _ => ok(""),
    });
    let steps = json!([
        {"path": "/all", "capture": {"ids": {"json": "$.items[*].id", "pick": "all"}, "none": {"json": "$.none"}}},
        {"name": "none", "path": "/none/${item}", "for_each": {"of": "none"}},
        {"name": "one", "path": "/one", "query": {"id": "${item}"}, "for_each": {"of": "ids", "at_most": 2}},
        {"name": "some", "method": "POST", "path": "/some", "json": "${wanted|json}"},
    ]);
    let lists =
        json!({"lists": {"wanted": {"for_each": "ids", "of": {"id": "${item|json}", "text": "${item}"}}}});
    let (outcome, seen) = walked(&server, steps, lists);
    let paths: Vec<&str> = seen.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(paths, ["/all", "/one?id=7", "/one?id=a%2Fb", "/some"]);
    let body: Value = serde_json::from_str(&seen[3].1).unwrap();
    assert_eq!(body[0], json!({"id": 7, "text": "7"}));
    assert_eq!(
        body[1],
        json!({"id": null, "text": "a/b"}),
        "a text that isn't JSON is not sent as JSON"
    );
    assert_eq!(
        (body.as_array().unwrap().len(), &outcome.summary["successes"]),
        (4, &json!(4))
    );
    assert_eq!(outcome.summary["journeys"], 1);
}

#[test]
fn a_journey_that_ends_with_a_step_for_nobody_ends_with_the_call_before_it() {
    let server = Server::start(|_| ok(r#"{"ids": []}"#));
    let steps = json!([
        {"path": "/all", "capture": {"ids": {"json": "$.ids"}}},
        {"path": "/one/${item}", "for_each": {"of": "ids"}},
    ]);
    let (outcome, seen) = walked(&server, steps, json!({}));
    assert_eq!((seen.len(), &outcome.summary["journeys"]), (1, &json!(1)));
}

#[test]
fn what_is_no_list_is_a_failed_expectation_of_the_call_that_captures_it() {
    let server = Server::start(|_| ok(r#"{"ids": 5}"#));
    let steps = json!([
        {"path": "/all", "capture": {"ids": {"json": "$.ids"}}},
        {"path": "/one/${item}", "for_each": {"of": "ids"}},
    ]);
    let (outcome, seen) = walked(&server, steps, json!({"trace": 5}));
    assert_eq!((seen.len(), outcome.with("expectation_failed").len()), (1, 1));
    assert_eq!(
        outcome.told[0]["missed"],
        "what ids captures: \"5\" is not a list"
    );
}

/// A job with these steps, whose users go on after a call that failed.
fn going_on(server: &Server, journeys: u64, steps: Value, more: Value) -> Value {
    let workload = json!({"closed": {"users": 1, "until": {"journeys_per_user": journeys}}});
    let mut made = with(job(&server.url(), workload, steps), more);
    made["groups"][0]["journeys"][0]["on_failure"] = json!("continue");
    made
}

#[test]
fn values_that_repeated_calls_capture_one_by_one_become_a_list_without_those_of_failed_calls() {
    let server = Server::start(|seen| match (seen.path(), seen.body.as_str()) {
        ("/make", "0") => ok(r#"{"id": [["a"]]}"#),
        ("/make", "1") => status(503, "", "{}"),
        ("/make", body) => ok(&json!({"id": format!("p{body}")}).to_string()),
        _ => ok(""),
    });
    let made = json!({"ids": {"json": "$.id", "pick": "each"}});
    let steps = json!([
        {"method": "POST", "path": "/make", "body": "${counter:n}", "repeat": 4, "capture": made},
        {"method": "POST", "path": "/one", "body": "${item}", "for_each": {"of": "ids"}},
        {"method": "POST", "path": "/all", "json": "${all|json}", "for_each": {"of": "ids", "at_most": 1}},
    ]);
    let more = json!({"lists": {"all": {"for_each": "ids", "of": "${item}"}}, "trace": 20});
    let outcome = run(&going_on(&server, 1, steps, more));
    let seen = server.seen.lock().unwrap();
    let bodies: Vec<&str> = seen.iter().skip(4).map(|seen| seen.body.as_str()).collect();
    assert_eq!(bodies, [r#"[["a"]]"#, "p2", "p3", r#"["[[\"a\"]]","p2","p3"]"#]);
    assert_eq!(outcome.told[3]["captured"]["ids"], r#"[[["a"]],"p2","p3"]"#);
}

#[test]
fn each_journey_begins_without_the_values_of_the_one_before_and_leaves_out_what_nothing_was_captured_for() {
    let server = Server::start(|seen| match seen.body.as_str() {
        "0" => ok(r#"{"id": "first"}"#),
        "1" => status(429, "", "{}"),
        "2" => ok(r#"{"id": null}"#),
        _ => ok(""),
    });
    let made = json!({"ids": {"json": "$.id", "pick": "each"}});
    let steps = json!([
        {"method": "POST", "path": "/make", "body": "${counter:n}", "capture": made},
        {"path": "/made/${item}", "for_each": {"of": "ids", "at_most": 1}},
    ]);
    let outcome = run(&going_on(&server, 3, steps, json!({})));
    let seen = server.seen.lock().unwrap();
    let paths: Vec<&str> = seen.iter().map(|seen| seen.path()).collect();
    assert_eq!(paths, ["/make", "/made/first", "/make", "/make"]);
    assert_eq!(outcome.summary["journeys"], 3);
    assert_eq!(
        outcome.with("expectation_failed").len(),
        1,
        "null is nothing to capture"
    );
}

#[test]
fn a_value_is_picked_at_random_by_the_seed_and_each_of_them_is() {
    let server = Server::start(|_| ok("[0, 1, 2, 3]"));
    let picks = |seed: u64| {
        let steps = json!([{"path": "/", "capture": {"one": {"json": "$[*]", "pick": "random"}}}, {"path": "/x/${one}"}]);
        let workload = json!({"closed": {"users": 1, "until": {"journeys_per_user": 200}}});
        server.seen.lock().unwrap().clear();
        run(&with(job(&server.url(), workload, steps), json!({"seed": seed})));
        let seen = server.seen.lock().unwrap();
        let picks = seen
            .iter()
            .filter_map(|seen| seen.path().strip_prefix("/x/")?.parse::<usize>().ok());
        picks.collect::<Vec<_>>()
    };
    let (first, again, other) = (picks(1), picks(1), picks(2));
    assert_eq!(first, again);
    assert_ne!(first, other);
    let counts = [0, 1, 2, 3].map(|wanted| first.iter().filter(|pick| **pick == wanted).count());
    // Four standard deviations of a share of a quarter of 200.
    assert!(counts.iter().all(|count| (26..=74).contains(count)), "{counts:?}");
}

#[test]
fn an_answer_that_lacks_parts_is_not_as_expected() {
    let server = Server::start(|seen| {
        ok(if seen.path() == "/whole" {
            r#"{"parts": [1, 2, 3]}"#
        } else {
            r#"{"parts": [1]}"#
        })
    });
    let expect = json!({"json": [{"path": "$.parts[*]", "count": 3}]});
    let steps = json!([{"path": "/whole", "expect": expect}, {"path": "/part", "expect": expect}]);
    let (outcome, _) = walked(&server, steps, json!({"trace": 2}));
    assert_eq!(
        (
            outcome.summary["successes"].as_u64(),
            outcome.with("expectation_failed").len()
        ),
        (Some(1), 1)
    );
    assert_eq!(outcome.told[1]["missed"], "$.parts[*] occurs 1 times, not 3");
}

#[test]
fn the_log_tells_where_journeys_end_and_which_were_cut_off() {
    let steps = json!([{"name": "a"}, {"name": "b", "repeat": 2}]);
    let workload = json!({"closed": {"users": 1}});
    let cut = with(
        job(URL, workload, steps),
        json!({"log_journeys": true, "duration_us": 75_000}),
    );
    let (rows, _) = simulate(&cut, |number| {
        Some((10 * MS, if number == 4 { 500 } else { 200 }))
    });
    let told: Vec<(u32, bool)> = rows.iter().map(|row| (row.journey, row.ends_journey)).collect();
    let whole = [(1, false), (1, false), (1, true)];
    let failed = [(2, false), (2, true)];
    let cut_off = [(3, false), (3, false), (3, true)];
    assert_eq!(
        told,
        [&whole[..], &failed, &cut_off].concat(),
        "the last call began before the end"
    );
    let shorter = with(cut, json!({"duration_us": 65_000}));
    let (rows, _) = simulate(&shorter, |number| {
        Some((10 * MS, if number == 4 { 500 } else { 200 }))
    });
    assert_eq!(
        rows.last().map(|row| (row.journey, row.ends_journey)),
        Some((3, false))
    );
}

#[test]
fn journeys_end_alike_with_policies_and_a_rejected_call_ends_one() {
    let breaker = json!([{"circuit_breaker": {"failure_rate": 100, "window": {"calls": 2}, "minimum_calls": 2,
        "open_for_us": 10_000_000, "half_open_calls": 1}}]);
    let workload = json!({"closed": {"users": 1, "until": {"journeys_per_user": 3}}});
    let job = job(URL, workload, json!([{"name": "a"}, {"name": "b"}]));
    let (rows, _) = simulate(
        &with(job, json!({"log_journeys": true, "policies": breaker})),
        |_| Some((MS, 500)),
    );
    let told: Vec<_> = rows
        .iter()
        .map(|row| (row.journey, row.attempt, row.ends_journey))
        .collect();
    assert_eq!(told, [(1, 1, true), (2, 1, true), (3, 0, true)]);
}

#[test]
fn an_arrival_that_is_dropped_is_a_journey_that_has_ended() {
    let open = json!({"open": {"schedule": {"constant": {"rate": 100}}, "max_in_flight": 1, "calls": 3}});
    let job = with(
        job(URL, open, json!([{}])),
        json!({"log_journeys": true, "duration_us": 1_000_000}),
    );
    let (rows, _) = simulate(&job, |_| Some((15 * MS, 200)));
    let told = |row: &Row| (row.attempt, row.ends_journey);
    assert_eq!(
        rows.iter().map(told).collect::<Vec<_>>(),
        [(0, true), (1, true), (1, true)]
    );
}

#[test]
fn items_that_failed_inside_a_good_answer_are_counted() {
    let server = Server::start(|seen| match seen.path() {
        "/b" => ok(r#"{"items": [{"status": 200}, {"status": 500}, {"status": 404}]}"#),
        "/unreadable" => ok("oops"),
        _ => ok(""),
    });
    let bundle = |path: &str| json!({"name": path, "path": path, "items": {"carried": 3, "failed": "$.items[?@.status >= 400]"}});
    let steps = json!([{"name": "one", "path": "/one", "items": {"carried": 1}}, bundle("/b"), bundle("/unreadable")]);
    let (outcome, _) = walked(&server, steps, json!({"log_journeys": true}));
    let told: Vec<_> = outcome
        .attempts
        .iter()
        .map(|row| (row.items, row.failed_items, row.outcome.as_str()))
        .collect();
    let wanted = [
        (Some(1), Some(0), "answered"),
        (Some(3), Some(2), "answered"),
        (Some(3), Some(0), "expectation_failed"),
    ];
    assert_eq!(told, wanted);
    let ends: Vec<_> = outcome.attempts.iter().map(|row| row.ends_journey).collect();
    assert_eq!(ends, [Some(false), Some(false), Some(true)]);
}

#[test]
fn a_log_without_journeys_has_no_columns_for_them() {
    let server = Server::start(|_| ok(""));
    let (outcome, _) = walked(&server, json!([{"items": {"carried": 2}}]), json!({}));
    let row = &outcome.attempts[0];
    assert_eq!((row.journey, row.ends_journey, row.items), (None, None, None));
}

#[test]
fn what_is_wrong_with_lists_and_values_is_told_where_it_stands() {
    let lists = json!({"lists": {
        "none": {"of": "x"}, "both": {"count": 1, "for_each": "ids", "of": "x"}, "many": {"count": 10_001, "of": "x"}, "bundle": {"count": 2, "of": {}},
    }});
    let steps = json!([
        {"path": "/${item}"},
        {"path": "/", "for_each": {"of": "ids"}},
        {"path": "/", "capture": {"ids": {"json": "$", "pick": "some"}, "h": {"header": "X", "pick": "all"}, "two": {"header": "X", "cookie": "X"}}},
        {"path": "/", "for_each": {"of": "h"}, "repeat": 2},
        {"path": "/", "expect": {"json": [{"path": "$", "equals": 1, "count": 1}]}, "items": {"carried": 0}},
    ]);
    let found = wrong_paths(&with(job(URL, ONCE(), steps), lists));
    let step = |number: usize, rest: &str| format!("groups[0].journeys[0].steps[{number}].{rest}");
    let wanted = [
        "lists.none".to_owned(),
        "lists.both".to_owned(),
        "lists.many.count".to_owned(),
        step(0, "path"),
        step(1, "for_each.of"),
        step(2, "capture.ids.pick"),
        step(2, "capture.h.pick"),
        step(2, "capture.two"),
        step(3, "for_each"),
        step(4, "expect.json[0].count"),
        step(4, "items.carried"),
    ];
    let missing: Vec<_> = wanted.iter().filter(|path| !found.contains(path)).collect();
    assert!(missing.is_empty(), "{missing:?} of {found:?}");
    let texts =
        json!({"lists": {"bundle": {"count": 2, "of": {}}, "nested": {"count": 2, "of": "${bundle}"}}});
    let steps = json!([{"path": "/${bundle}"}, {"path": "/${nested}"}]);
    let found = wrong_paths(&with(job(URL, ONCE(), steps), texts));
    assert_eq!(found, [step(0, "path"), step(1, "path")]);
}
