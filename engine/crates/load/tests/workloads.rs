//! Closed and open workloads against servers that follow a script.
#![allow(
    missing_docs,
    clippy::disallowed_methods,
    reason = "tests run outside the runtime that they test"
)]

mod common;

use common::{Reply, Server, after, job, ok, run, status, with, wrong_paths};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

#[test]
fn a_closed_workload_ends_after_so_many_calls_of_all_users() {
    let server = Server::start(|_| ok("hello"));
    let outcome = run(&job(
        &server.url(),
        json!({"closed": {"users": 7, "until": {"calls": 100}}}),
        json!([{}]),
    ));
    assert_eq!((server.count(), outcome.attempts.len()), (100, 100));
    assert_eq!(outcome.summary["requests"], 100);
    assert_eq!(outcome.summary["bytes"], 500);
    assert!(
        outcome
            .attempts
            .iter()
            .all(|attempt| attempt.success && attempt.status == Some(200) && attempt.bytes == Some(5))
    );
}

#[test]
fn every_user_makes_so_many_calls_and_numbers_them() {
    let server = Server::start(|_| ok(""));
    let outcome = run(&job(
        &server.url(),
        json!({"closed": {"users": 5, "until": {"calls_per_user": 20}}}),
        json!([{}]),
    ));
    for user in 0..5 {
        let calls: Vec<u32> = outcome
            .attempts
            .iter()
            .filter(|row| row.user == user)
            .map(|row| row.call)
            .collect();
        assert_eq!(calls, (0..20).collect::<Vec<_>>());
    }
}

#[test]
fn users_go_on_until_they_have_their_successes() {
    // Every third answer is a failure: four good calls of one user take five.
    let server = Server::start(|seen| {
        if seen.number % 3 == 2 {
            status(503, "", "")
        } else {
            ok("")
        }
    });
    let workload = json!({"closed": {"users": 1, "until": {"successes_per_user": 4}}});
    let outcome = run(&job(&server.url(), workload, json!([{}])));
    assert_eq!(
        outcome
            .attempts
            .iter()
            .map(|row| row.status.unwrap())
            .collect::<Vec<_>>(),
        [200, 200, 503, 200, 200]
    );
    assert_eq!(
        (&outcome.summary["successes"], &outcome.summary["errors"]),
        (&json!(4), &json!(1))
    );
}

#[test]
fn users_pause_between_calls() {
    let server = Server::start(|_| ok(""));
    let workload = json!({"closed": {"users": 2, "think_us": 20_000, "until": {"calls_per_user": 5}}});
    let outcome = run(&job(&server.url(), workload, json!([{}])));
    for user in 0..2 {
        let rows: Vec<_> = outcome.attempts.iter().filter(|row| row.user == user).collect();
        assert!(
            rows.windows(2)
                .all(|pair| pair[1].intended_us >= pair[0].end_us + 19_999)
        );
    }
}

#[test]
fn an_open_workload_sends_as_the_schedule_says_whoever_waits() {
    // Every answer takes longer than ten arrivals.
    let server = Server::start(|_| after(Duration::from_millis(50), ""));
    let workload = json!({"open": {"schedule": {"constant": {"rate": 200}}}});
    let outcome = run(&with(
        job(&server.url(), workload, json!([{}])),
        json!({"duration_us": 500_000}),
    ));
    let mut intended: Vec<i64> = outcome.attempts.iter().map(|row| row.intended_us).collect();
    intended.sort_unstable();
    assert_eq!(intended, (0..100).map(|k| k * 5000).collect::<Vec<i64>>());
    assert!(
        outcome
            .attempts
            .iter()
            .all(|row| row.start_us >= row.intended_us && row.end_us >= row.start_us + 50_000)
    );
    assert_eq!(outcome.summary["calls"], 100);
}

#[test]
fn arrivals_beyond_the_cap_are_dropped_and_counted_exactly() {
    let server = Server::start(|_| after(Duration::from_secs(1), ""));
    let workload =
        json!({"open": {"schedule": {"constant": {"rate": 100}}, "max_in_flight": 5, "calls": 40}});
    let outcome = run(&job(&server.url(), workload, json!([{}])));
    let dropped = outcome.with("dropped");
    assert_eq!((dropped.len(), outcome.with("answered").len()), (35, 5));
    assert!(
        dropped
            .iter()
            .all(|row| row.attempt == 0 && row.status.is_none() && row.first_byte_us.is_none())
    );
    assert_eq!(
        (&outcome.summary["dropped"], &outcome.summary["requests"]),
        (&json!(35), &json!(5))
    );
    let step = &outcome.summary["steps"][0];
    assert_eq!(
        (&step["requests"], &step["calls"], &step["dropped"]),
        (&json!(5), &json!(5), &json!(35)),
        "what was never sent isn't a call of its step"
    );
    assert!(
        outcome.has_doubt("dropped_arrivals"),
        "{}",
        outcome.summary["doubts"]
    );
    // An overloaded system is a result, and the generator was in time: a tenth of a second is allowed here.
    assert_eq!(outcome.summary["valid"], true, "{}", outcome.summary["doubts"]);
}

#[test]
fn lateness_is_judged_by_what_the_job_allows() {
    let server = Server::start(|_| ok(""));
    let late = |lateness: Value| {
        let workload = json!({"open": {"schedule": {"constant": {"rate": 500}}, "calls": 120}});
        let mut job = job(&server.url(), workload, json!([{}]));
        job["lateness"] = lateness;
        let outcome = run(&job);
        let doubted = outcome.has_doubt("late_schedule");
        assert_eq!(
            outcome.summary["valid"], !doubted,
            "{}",
            outcome.summary["doubts"]
        );
        doubted
    };
    assert!(late(json!({"percent": 0, "floor_us": 0})));
    assert!(!late(json!({"floor_us": 60_000_000})));
    assert!(!late(json!({"percent": 1_000_000, "floor_us": 0})));
}

#[test]
fn a_round_of_few_calls_says_that_its_p99_is_its_maximum() {
    let server = Server::start(|_| ok(""));
    let few = |calls: u64| {
        let workload = json!({"closed": {"users": 1, "until": {"calls": calls}}});
        run(&job(&server.url(), workload, json!([{}]))).has_doubt("few_calls")
    };
    assert!(few(8) && few(99) && !few(100));
}

#[test]
fn a_round_in_which_every_call_failed_is_doubted() {
    let server = Server::start(|seen| status(if seen.number == 0 { 200 } else { 500 }, "", ""));
    let nothing_good = |calls: u64| {
        let workload = json!({"closed": {"users": 1, "until": {"calls": calls}}});
        run(&job(&server.url(), workload, json!([{}]))).has_doubt("nothing_succeeded")
    };
    assert!(!nothing_good(3));
    assert!(nothing_good(3));
}

#[test]
fn the_thread_that_drives_the_load_is_bound_to_the_core_that_the_job_names() {
    let server = Server::start(|_| ok(""));
    let mut job = job(
        &server.url(),
        json!({"closed": {"users": 1, "until": {"calls": 1}}}),
        json!([{}]),
    );
    job["core"] = json!(0);
    // In its own thread: it stays bound.
    let outcome = std::thread::spawn(move || run(&job)).join().unwrap();
    assert_eq!(outcome.summary["generator"]["core"], 0);
    assert!(outcome.summary["generator"]["niceness"].is_i64());
}

#[test]
fn arrivals_come_as_one_user_after_another() {
    let server = Server::start(|_| ok(""));
    let workload = json!({"open": {"schedule": {"constant": {"rate": 1000}}, "users": 3, "calls": 9}});
    let mut rows = run(&job(&server.url(), workload, json!([{}]))).attempts;
    rows.sort_by_key(|row| row.intended_us);
    let identities: Vec<(u32, u32)> = rows.iter().map(|row| (row.user, row.call)).collect();
    assert_eq!(identities, (0..9).map(|k| (k % 3, k / 3)).collect::<Vec<_>>());
}

#[test]
fn a_trace_is_replayed_with_its_users_and_steps() {
    let server = Server::start(|_| ok(""));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("trace.csv");
    std::fs::write(
        &file,
        "at_us,user,step\n0,4,look\n10000,2,buy\n10000,4,look\n30500,2,look\n",
    )
    .unwrap();
    let mut job = job(
        &server.url(),
        json!({"open": {"schedule": {"trace": {"file": file}}}}),
        json!([]),
    );
    job["groups"][0]["journeys"] =
        json!([{"steps": [{"name": "look", "path": "/look"}]}, {"steps": [{"name": "buy", "path": "/buy"}]}]);
    let mut rows = run(&job).attempts;
    rows.sort_by_key(|row| (row.intended_us, row.user));
    let sent: Vec<_> = rows
        .iter()
        .map(|row| (row.intended_us, row.user, row.step.as_str(), row.call))
        .collect();
    assert_eq!(
        sent,
        [
            (0, 4, "look", 0),
            (10_000, 2, "buy", 0),
            (10_000, 4, "look", 1),
            (30_500, 2, "look", 1)
        ]
    );
}

#[test]
fn warm_up_is_recorded_and_marked_and_left_out_of_the_summary() {
    let server = Server::start(|_| ok(""));
    let workload = json!({"open": {"schedule": {"constant": {"rate": 500}}}});
    let job = with(
        job(&server.url(), workload, json!([{}])),
        json!({"warm_up_us": 200_000, "duration_us": 300_000}),
    );
    let outcome = run(&job);
    let warm = outcome.attempts.iter().filter(|row| row.warm_up).count();
    assert_eq!((outcome.attempts.len(), warm), (250, 100));
    assert!(
        outcome
            .attempts
            .iter()
            .all(|row| row.warm_up == (row.intended_us < 200_000))
    );
    assert_eq!(
        (&outcome.summary["requests"], &outcome.summary["warm_up_rows"]),
        (&json!(150), &json!(100))
    );
    assert_eq!(outcome.histograms["histograms"][1]["count"], 150);
}

/// Three populations with rates per user of 120, 90 and 30 a minute, as in the rate-limiting paper: 5, 20 and 75 users,
/// as its authors' scripts have (its Table III prints 25 for 20). Time runs ten times as fast.
#[test]
fn groups_keep_the_rates_of_their_users_within_half_a_percent() {
    let server = Server::start(|_| after(Duration::from_millis(2), ""));
    let group = |name: &str, users: u32, per_minute: u32| {
        let every_us = 60_000_000 / u64::from(per_minute) / 10;
        let workload =
            json!({"closed": {"users": users, "pace": {"every_us": every_us}, "start_over_us": every_us}});
        json!({"name": name, "workload": workload, "journeys": [{"steps": [{}]}]})
    };
    let groups = json!([
        group("high", 5, 120),
        group("moderate", 20, 90),
        group("low", 75, 30)
    ]);
    let outcome = run(&with(
        job(&server.url(), json!(null), json!([])),
        json!({"groups": groups, "duration_us": 3_000_000}),
    ));
    for (name, users, per_minute) in [("high", 5, 120.0), ("moderate", 20, 90.0), ("low", 75, 30.0)] {
        for user in 0..users {
            let mut starts: Vec<i64> = outcome
                .attempts
                .iter()
                .filter(|row| row.group == name && row.user == user)
                .map(|row| row.start_us)
                .collect();
            starts.sort_unstable();
            let minutes = (starts[starts.len() - 1] - starts[0]) as f64 / 60e6 * 10.0;
            let rate = (starts.len() - 1) as f64 / minutes;
            // A user's own rate may be off by what its last call was late; the schedule itself is exact.
            assert!((rate / per_minute - 1.0).abs() < 0.05, "{name} {user}: {rate}");
        }
        let mut intended: Vec<(u32, i64)> = outcome
            .attempts
            .iter()
            .filter(|row| row.group == name)
            .map(|row| (row.user, row.intended_us))
            .collect();
        intended.sort_unstable();
        let gaps: Vec<i64> = intended
            .windows(2)
            .filter(|pair| pair[0].0 == pair[1].0)
            .map(|pair| pair[1].1 - pair[0].1)
            .collect();
        let mean = gaps.iter().sum::<i64>() as f64 / gaps.len() as f64;
        assert!((6e6 / mean / per_minute - 1.0).abs() < 0.005, "{name}: {mean}");
    }
}

#[test]
fn a_late_user_catches_up_or_shifts_as_asked() {
    let run_with = |late: &str| {
        // The first answer takes as long as five calls.
        let server =
            Server::start(|seen| after(Duration::from_millis(if seen.number == 0 { 505 } else { 0 }), ""));
        let workload = json!({"closed": {"users": 1, "pace": {"every_us": 100_000, "late": late}, "until": {"calls": 8}}});
        run(&job(&server.url(), workload, json!([{}]))).attempts
    };
    let caught_up = run_with("catch_up");
    assert_eq!(
        caught_up.iter().map(|row| row.intended_us).collect::<Vec<_>>(),
        (0..8).map(|k| k * 100_000).collect::<Vec<_>>()
    );
    assert!(caught_up[1].start_us - caught_up[1].intended_us >= 400_000);
    let shifted = run_with("shift");
    assert!(shifted[1].intended_us >= 505_000);
    assert!(
        shifted
            .iter()
            .skip(1)
            .all(|row| row.start_us - row.intended_us < 400_000)
    );
}

#[test]
fn requests_go_round_the_targets_in_proportion_to_their_weights() {
    let servers = [
        Server::start(|_| ok("")),
        Server::start(|_| ok("")),
        Server::start(|_| ok("")),
    ];
    let targets: Vec<_> = servers
        .iter()
        .zip([3, 1, 0])
        .map(|(server, weight)| json!({"url": server.url(), "weight": weight}))
        .collect();
    let workload = json!({"closed": {"users": 4, "until": {"calls": 100}}});
    let outcome = run(&with(job("", workload, json!([{}])), json!({"targets": targets})));
    assert_eq!(servers.each_ref().map(Server::count), [75, 25, 0]);
    assert!(outcome.summary["generator"]["connections"].as_u64().unwrap() <= 8);
}

#[test]
fn each_user_of_a_group_with_affinity_keeps_to_one_target() {
    let asked: [Arc<Mutex<BTreeSet<String>>>; 3] = Default::default();
    let servers = asked.each_ref().map(|paths| {
        let paths = Arc::clone(paths);
        Server::start(move |seen| {
            paths.lock().unwrap().insert(seen.path().to_owned());
            ok("")
        })
    });
    let targets: Vec<_> = servers
        .iter()
        .zip([3, 1, 0])
        .map(|(server, weight)| json!({"url": server.url(), "weight": weight}))
        .collect();
    let workload = json!({"closed": {"users": 8, "until": {"calls_per_user": 5}}});
    let mut job = with(
        job("", workload, json!([{"path": "/${user}"}])),
        json!({"targets": targets}),
    );
    job["groups"][0]["affinity"] = json!("user");
    run(&job);
    let [first, second, third] = asked.map(|paths| Vec::from_iter(paths.lock().unwrap().clone()));
    assert_eq!(first, ["/0", "/1", "/3", "/4", "/5", "/7"]);
    assert_eq!(second, ["/2", "/6"]);
    assert!(third.is_empty());
    job["groups"][0]["affinity"] = json!("session");
    assert_eq!(wrong_paths(&job), ["groups[0].affinity"]);
}

#[test]
fn an_answer_that_does_not_come_in_time_is_a_timeout_on_time() {
    let server =
        Server::start(|seen| after(Duration::from_millis(if seen.number == 1 { 2000 } else { 0 }), ""));
    let workload = json!({"closed": {"users": 1, "until": {"calls": 3}}});
    let outcome = run(&job(&server.url(), workload, json!([{"timeout_us": 60_000}])));
    let outcomes: Vec<&str> = outcome.attempts.iter().map(|row| row.outcome.as_str()).collect();
    assert_eq!(outcomes, ["answered", "timeout", "answered"]);
    let slow = &outcome.attempts[1];
    assert!(
        (60_000..1_000_000).contains(&(slow.end_us - slow.start_us)),
        "{slow:?}"
    );
    assert_eq!((slow.status, slow.bytes, slow.success), (None, None, false));
}

#[test]
fn what_is_unanswered_when_the_waiting_is_over_is_recorded_and_doubted() {
    let server = Server::start(|_| after(Duration::from_secs(20), ""));
    let workload = json!({"open": {"schedule": {"constant": {"rate": 100}}}});
    let before = Instant::now();
    let outcome = run(&with(
        job(&server.url(), workload, json!([{}])),
        json!({"duration_us": 100_000, "drain_us": 200_000}),
    ));
    assert!(before.elapsed() < Duration::from_secs(10));
    assert_eq!(outcome.with("cancelled").len(), 10);
    assert!(
        outcome.has_doubt("unanswered_at_the_end"),
        "{}",
        outcome.summary["doubts"]
    );
}

#[test]
fn a_server_that_hangs_up_or_is_not_there_is_a_connection_error() {
    let server = Server::start(|seen| {
        if seen.number % 2 == 1 {
            Reply::HangUp
        } else {
            ok("")
        }
    });
    let workload = json!({"closed": {"users": 1, "until": {"calls": 10}}});
    let outcome = run(&job(&server.url(), workload.clone(), json!([{}])));
    assert_eq!(
        (
            outcome.with("connection_error").len(),
            outcome.with("answered").len()
        ),
        (5, 5)
    );
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let outcome = run(&job(&format!("http://{address}"), workload, json!([{}])));
    assert_eq!(outcome.with("connection_error").len(), 10);
    assert_eq!(outcome.summary["socket_errors"]["refused"], 10);
    let doubts = outcome.summary["doubts"].to_string();
    assert!(
        doubts.contains("not one of 10 attempts was answered: 10 found nobody listening"),
        "{doubts}"
    );
}

#[test]
fn a_connection_that_the_server_does_not_keep_is_opened_again() {
    let server = Server::start(|_| status(200, "Connection: close\r\n", "x"));
    let workload = json!({"closed": {"users": 2, "until": {"calls": 20}}});
    let outcome = run(&job(&server.url(), workload, json!([{}])));
    assert_eq!(outcome.with("answered").len(), 20);
    assert_eq!(outcome.summary["generator"]["connections"], 20);
}

#[test]
fn users_keep_their_connections() {
    let server = Server::start(|_| ok("x"));
    let workload = json!({"closed": {"users": 6, "until": {"calls": 600}}});
    let outcome = run(&job(&server.url(), workload, json!([{}])));
    assert_eq!(outcome.summary["generator"]["connections"], 6);
}

#[test]
fn the_same_seed_gives_the_same_poisson_arrivals() {
    let server = Server::start(|_| ok(""));
    let workload = json!({"open": {"schedule": {"sine": {"mean": 500, "amplitude": 400, "period_us": 100_000}}, "spacing": "poisson"}});
    let intended = |seed: u64| {
        let more = json!({"duration_us": 300_000, "seed": seed});
        let job = with(job(&server.url(), workload.clone(), json!([{}])), more);
        let mut times: Vec<i64> = run(&job).attempts.iter().map(|row| row.intended_us).collect();
        times.sort_unstable();
        times
    };
    assert_eq!(intended(1), intended(1));
    assert_ne!(intended(1), intended(2));
}

/// Every group has a schedule, users, a cap and journeys of its own, next to a group of closed users.
#[test]
fn groups_may_each_have_an_open_workload_of_their_own() {
    let server = Server::start(|seen| match seen.path() {
        // Longer than the group lasts, so that its second arrival is one too many.
        "/slow" => after(Duration::from_millis(400), ""),
        _ => ok(""),
    });
    let group = |name: &str, workload: serde_json::Value, path: &str| json!({"name": name, "workload": workload, "journeys": [{"steps": [{"name": name, "path": path}]}]});
    let groups = json!([
        group(
            "fast",
            json!({"open": {"schedule": {"constant": {"rate": 200}}, "users": 2}}),
            "/fast"
        ),
        group(
            "spiky",
            json!({"open": {"schedule": {"steps": [{"rate": 0, "for_us": 100_000}, {"rate": 100, "for_us": 100_000}]}}}),
            "/spiky"
        ),
        group(
            "capped",
            json!({"open": {"schedule": {"constant": {"rate": 50}}, "max_in_flight": 1}}),
            "/slow"
        ),
        group(
            "users",
            json!({"closed": {"users": 3, "until": {"calls_per_user": 4}}}),
            "/users"
        ),
    ]);
    let outcome = run(&with(
        job(&server.url(), json!(null), json!([])),
        json!({"groups": groups, "duration_us": 300_000}),
    ));
    let intended = |name: &str| {
        let of_group = outcome
            .attempts
            .iter()
            .filter(|row| row.group == name && row.step == name);
        let mut times: Vec<i64> = of_group.map(|row| row.intended_us).collect();
        times.sort_unstable();
        times
    };
    assert_eq!(intended("fast"), (0..60).map(|k| k * 5000).collect::<Vec<i64>>());
    assert_eq!(
        intended("spiky"),
        (0..10).map(|k| 100_000 + k * 10_000).collect::<Vec<i64>>()
    );
    assert_eq!(
        intended("capped"),
        (0..15).map(|k| k * 20_000).collect::<Vec<i64>>()
    );
    assert_eq!(intended("users").len(), 12);
    let dropped: Vec<&str> = outcome
        .with("dropped")
        .iter()
        .map(|row| row.group.as_str())
        .collect();
    assert_eq!(dropped, ["capped"; 14]);
    let users: std::collections::BTreeSet<u32> = outcome
        .attempts
        .iter()
        .filter(|row| row.group == "fast")
        .map(|row| row.user)
        .collect();
    assert_eq!(users.len(), 2);
}

#[test]
fn a_server_without_tls_is_said_to_be_none() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
            let _ = stream.read(&mut [0; 1024]);
        }
    });
    let workload = json!({"closed": {"users": 1, "until": {"calls": 2}}});
    let outcome = run(&with(
        job(&url, workload, json!([{}])),
        json!({"tls": {"verify": false}}),
    ));
    assert_eq!(outcome.summary["socket_errors"]["tls"], 2);
    let doubts = outcome.summary["doubts"].to_string();
    assert!(
        doubts.contains("2 attempts could not agree on TLS: received corrupt message"),
        "{doubts}"
    );
}

/// The CPU time is that of the load: what reading the job and writing the log cost is not held against it.
/// The kernel's two clocks may run apart by a little.
#[test]
fn the_generator_never_uses_more_than_its_cpu() {
    let server = Server::start(|_| ok(""));
    let workload = json!({"closed": {"users": 1, "until": {"calls": 1}}});
    let job = job(&server.url(), workload, json!([{}]));
    for _ in 0..20 {
        let share = run(&job).summary["generator"]["cpu_share"].clone();
        assert!(share.as_f64().unwrap() <= 1.01, "{share}");
    }
}
