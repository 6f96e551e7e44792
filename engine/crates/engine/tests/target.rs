//! The target does what it was asked for, over real sockets, and its log says so.

mod common;

use common::{Served, agent, eventually, get, post, run};
use std::collections::HashMap;
use std::path::PathBuf;
use std::thread;

/// One line of the log; times in microseconds.
#[derive(Debug)]
struct Line {
    path: String,
    received: u64,
    started: Option<u64>,
    finished: u64,
    status: u16,
    written: Option<u64>,
}

impl Line {
    fn service(&self) -> u64 {
        self.finished - self.started.expect("a request that was served")
    }
}

/// Runs a target with a log, lets `act` use it, stops it and reads the log.
fn logged(arguments: &[&str], act: impl FnOnce(&Served)) -> Vec<Line> {
    let folder = tempfile::tempdir().unwrap();
    let file: PathBuf = folder.path().join("log.csv");
    let log = ["target", "--log", file.to_str().unwrap()];
    let target = Served::start(&[&log[..], arguments].concat());
    act(&target);
    assert_eq!(target.stop(), Some(0));
    let text = std::fs::read_to_string(file).unwrap();
    let mut lines = text.lines();
    assert!(lines.next().unwrap().starts_with("# epoch_us="));
    assert_eq!(
        lines.next(),
        Some("id,method,path,received_us,started_us,finished_us,status,written_us")
    );
    lines.map(line).collect()
}

fn line(text: &str) -> Line {
    // The path is the one field that may hold commas.
    let (_, rest) = text.split_once(",\"").unwrap();
    let (path, rest) = rest.rsplit_once("\",").unwrap();
    let fields: Vec<&str> = rest.split(',').collect();
    Line {
        path: path.to_owned(),
        received: fields[0].parse().unwrap(),
        started: fields[1].parse().ok(),
        finished: fields[2].parse().unwrap(),
        status: fields[3].parse().unwrap(),
        written: fields[4].parse().ok(),
    }
}

/// `users` at the same time, each asks `times` times; the statuses.
fn ask(url: &str, users: usize, times: usize) -> Vec<u16> {
    let threads: Vec<_> = (0..users)
        .map(|_| {
            let (agent, url) = (agent(), url.to_owned());
            let once = move || {
                let mut answer = agent.get(&url).call().unwrap();
                answer.body_mut().read_to_vec().unwrap();
                answer.status().as_u16()
            };
            thread::spawn(move || (0..times).map(|_| once()).collect::<Vec<_>>())
        })
        .collect();
    threads
        .into_iter()
        .flat_map(|thread| thread.join().unwrap())
        .collect()
}

fn mean(values: impl IntoIterator<Item = u64>) -> f64 {
    let values: Vec<u64> = values.into_iter().collect();
    values.iter().sum::<u64>() as f64 / values.len() as f64
}

#[test]
fn service_times_are_distributed_as_asked() {
    for (asked, wanted_us) in [
        ("fixed:4ms", 4_000.0),
        ("exponential:4ms", 4_000.0),
        ("lognormal:4ms,0.5", 4_000.0),
    ] {
        let log = logged(
            &["--workers", "8", "--service-time", asked, "--seed", "3"],
            |target| {
                ask(&target.at("/bytes/10"), 8, 75);
            },
        );
        assert_eq!(log.len(), 600);
        let found = mean(log.iter().map(Line::service));
        assert!(
            (found - wanted_us).abs() < 0.2 * wanted_us,
            "{asked}: mean of {found} us"
        );
    }
}

#[test]
fn a_fixed_service_time_is_never_cut_short_and_not_rounded_up() {
    let log = logged(&["--workers", "1", "--service-time", "fixed:3ms"], |target| {
        ask(&target.at("/bytes/10"), 1, 100);
    });
    let mut services: Vec<u64> = log.iter().map(Line::service).collect();
    services.sort_unstable();
    assert!(services[0] >= 2_999, "{services:?}");
    assert!(
        services[50] < 4_000,
        "half of them within a millisecond: {services:?}"
    );
}

#[test]
fn response_time_rises_with_load() {
    let log = logged(&["--workers", "1", "--service-time", "fixed:5ms"], |target| {
        ask(&target.at("/bytes/10"), 4, 10);
    });
    let longest_wait = log
        .iter()
        .map(|line| line.started.unwrap() - line.received)
        .max()
        .unwrap();
    assert!(longest_wait > 14_000, "behind three others: {longest_wait} us");
}

#[test]
fn what_was_asked_is_given_up_on_request_so_that_nothing_of_it_keeps_later_requests_waiting() {
    let log = logged(&["--workers", "1", "--service-time", "fixed:15s"], |target| {
        let url = target.at("/bytes/10");
        let asking = thread::spawn(move || ask(&url, 3, 1));
        eventually("one is served and two wait", || {
            let (_, text) = get(&target.at("/stats"));
            let stats: serde_json::Value = serde_json::from_str(&text).unwrap();
            (&stats["serving"], &stats["waiting"]) == (&1.into(), &2.into())
        });
        assert_eq!(get(&target.at("/drop")).0, 405, "only by POST");
        assert_eq!(
            post(&target.at("/drop"), ""),
            (200, r#"{"dropped":2}"#.to_owned())
        );
        assert_eq!(asking.join().unwrap(), [503; 3]);
        assert_eq!(
            get(&target.at("/delay/1ms")).0,
            200,
            "it serves again, and at once"
        );
        assert_eq!(post(&target.at("/drop"), "").1, r#"{"dropped":0}"#);
    });
    let statuses: Vec<_> = log.iter().map(|line| (line.path.as_str(), line.status)).collect();
    assert_eq!(statuses.iter().filter(|one| one.1 == 503).count(), 3);
    let worked = log
        .iter()
        .filter(|line| line.status == 503 && line.started.is_some());
    assert!(worked.map(Line::service).all(|took| took < 15_000_000));
    assert!(statuses.contains(&("/delay/1ms", 200)), "{statuses:?}");
}

#[test]
fn a_full_queue_refuses_exactly_what_is_too_much() {
    let log = logged(
        &["--workers", "2", "--queue", "3", "--service-time", "fixed:1s"],
        |target| {
            let mut statuses = ask(&target.at("/bytes/10"), 12, 1);
            statuses.sort_unstable();
            assert_eq!(statuses, [vec![200; 5], vec![503; 7]].concat());
            let (_, stats) = get(&target.at("/stats"));
            let stats: serde_json::Value = serde_json::from_str(&stats).unwrap();
            assert_eq!(
                (&stats["received"], &stats["refused"], &stats["finished"]),
                (&12.into(), &7.into(), &5.into())
            );
        },
    );
    let refused: Vec<&Line> = log.iter().filter(|line| line.status == 503).collect();
    assert_eq!(refused.len(), 7);
    assert!(refused.iter().all(|line| line.started.is_none()));
}

#[test]
fn a_refusal_says_when_to_come_back_and_health_is_never_refused() {
    let target = Served::start(&[
        "target",
        "--workers",
        "1",
        "--queue",
        "0",
        "--service-time",
        "fixed:1s",
    ]);
    let (first, second) = (target.at("/bytes/1"), target.at("/bytes/1"));
    let busy = thread::spawn(move || get(&first).0);
    common::eventually("the worker is busy", || {
        get(&target.at("/stats")).1.contains("\"serving\":1")
    });
    let refused = agent().get(&second).call().unwrap();
    assert_eq!(
        (
            refused.status().as_u16(),
            refused.headers()["retry-after"].as_bytes()
        ),
        (503, &b"1"[..])
    );
    assert_eq!(get(&target.at("/health")), (200, "{\"status\":\"up\"}".into()));
    assert_eq!(busy.join().unwrap(), 200);
}

#[test]
fn requests_are_started_in_the_order_in_which_they_came() {
    let mut log = logged(&["--workers", "1", "--service-time", "fixed:2ms"], |target| {
        ask(&target.at("/bytes/10"), 8, 10);
    });
    log.sort_by_key(|line| line.started);
    assert!(log.windows(2).all(|pair| pair[0].received <= pair[1].received));
}

#[test]
fn a_delay_replaces_the_drawn_service_time() {
    let log = logged(&["--workers", "1", "--service-time", "fixed:0ms"], |target| {
        for path in ["/delay/30ms", "/delay/0.03", "/bytes/10"] {
            assert_eq!(get(&target.at(path)).0, 200, "{path}");
        }
    });
    assert!(
        log[0].service() >= 29_999 && log[1].service() >= 29_999,
        "{log:?}"
    );
    assert!(log[2].service() < 20_000, "{log:?}");
}

#[test]
fn a_reset_connection_is_reset_and_logged_as_status_0() {
    let log = logged(
        &["--reset-share", "100%", "--service-time", "fixed:1ms"],
        |target| {
            let error = agent().get(target.at("/bytes/10")).call().unwrap_err();
            let ureq::Error::Io(error) = error else {
                panic!("{error}")
            };
            assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
        },
    );
    assert_eq!((log[0].status, log[0].written), (0, None));
}

#[test]
fn slow_answers_come_in_their_share() {
    let slow = [
        "--service-time",
        "fixed:1ms",
        "--slow-share",
        "10%",
        "--slow-factor",
        "20",
    ];
    let log = logged(&slow, |target| drop(ask(&target.at("/bytes/10"), 4, 50)));
    let slow = log.iter().filter(|line| line.service() >= 19_999).count();
    assert!((5..=45).contains(&slow), "{slow} of 200");
}

#[test]
fn all_workers_stand_still_in_a_pause() {
    let pause = [
        "--service-time",
        "fixed:1ms",
        "--pause",
        "150ms",
        "--pause-every",
        "300ms",
    ];
    let log = logged(&pause, |target| drop(ask(&target.at("/bytes/10"), 2, 300)));
    let longest = log.iter().map(Line::service).max().unwrap();
    assert!(longest >= 50_000, "one request met the pause: {longest} us");
    let mut ends: Vec<u64> = log.iter().map(|line| line.finished).collect();
    ends.sort_unstable();
    let silence = ends.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap();
    assert!(silence >= 100_000, "no worker ends anything: {silence} us");
}

#[test]
fn the_log_has_every_request_with_its_status_and_none_for_health_and_stats() {
    let log = logged(&["--service-time", "fixed:0ms"], |target| {
        for path in [
            "/status/418",
            "/status/302",
            "/nowhere",
            "/bytes/-1",
            "/health",
            "/stats",
            "/anything?a=1,2",
        ] {
            get(&target.at(path));
        }
    });
    let found: Vec<(&str, u16)> = log[..4]
        .iter()
        .map(|line| (line.path.as_str(), line.status))
        .collect();
    assert_eq!(
        found,
        [
            ("/status/418", 418),
            ("/status/302", 302),
            ("/nowhere", 404),
            ("/bytes/-1", 400)
        ]
    );
    assert_eq!(log.len(), 5);
    assert!(
        log.iter().all(|line| line.written >= Some(line.finished)),
        "{log:?}"
    );
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let bytes = |seed, path| {
        let target = Served::start(&["target", "--service-time", "fixed:0ms", "--seed", seed]);
        agent()
            .get(target.at(path))
            .call()
            .unwrap()
            .body_mut()
            .read_to_vec()
            .unwrap()
    };
    let (short, long) = (bytes("1", "/bytes/1000"), bytes("1", "/bytes/5000"));
    assert_eq!((short.len(), long.len()), (1000, 5000));
    assert_eq!(
        short[..],
        long[..1000],
        "the first bytes are the same however many are asked for"
    );
    assert_ne!(short, bytes("2", "/bytes/1000"));
}

#[test]
fn anything_is_echoed() {
    let target = Served::start(&["target", "--service-time", "fixed:0ms"]);
    let (status, text) = post(&target.at("/anything/at/all?a=1&b=%20x&a=2"), "{\"k\": [1]}");
    let echo: HashMap<String, serde_json::Value> = serde_json::from_str(&text).unwrap();
    assert_eq!(status, 200);
    assert_eq!(echo["method"], "POST");
    assert_eq!(echo["path"], "/anything/at/all");
    assert_eq!(echo["args"], serde_json::json!({"a": ["1", "2"], "b": " x"}));
    assert_eq!(echo["data"], "{\"k\": [1]}");
    assert_eq!(echo["json"], serde_json::json!({"k": [1]}));
    assert_eq!(echo["headers"]["content-length"], "10");
}

#[test]
fn a_wrong_option_is_answered_with_what_to_write() {
    for (arguments, wanted) in [
        (
            vec!["--service-time", "5ms"],
            "write fixed:5ms, exponential:5ms or lognormal:5ms,0.5",
        ),
        (
            vec!["--service-time", "fixed:5"],
            "'5' has no unit: write 5ms or 5s",
        ),
        (vec!["--queue", "many"], "write a number, or unbounded"),
        (vec!["--workers", "0"], "0 is not in 1..=1024"),
        (vec!["--slow-share", "1"], "write 1%"),
        (
            vec!["--pause", "1s", "--pause-every", "1s"],
            "--pause must be longer than 0 and shorter than --pause-every",
        ),
        (vec!["--pause", "1s"], "--pause-every"),
        (
            vec!["--log", "/no/such/folder/log.csv"],
            "cannot write the log /no/such/folder/log.csv",
        ),
        (
            vec!["--log", "/dev/full"],
            "cannot write the log /dev/full: No space left on device",
        ),
        (vec!["--host", "192.0.2.1"], "cannot listen on 192.0.2.1:0"),
    ] {
        let output = run(&[&["target"], &arguments[..]].concat());
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {text}");
        assert!(
            text.starts_with("error: ") && text.contains(wanted),
            "{arguments:?}: {text}"
        );
        assert!(!text.contains("panicked"), "{text}");
    }
}

#[test]
fn an_answer_that_nobody_waits_for_is_logged_as_not_written() {
    let log = logged(&["--workers", "1", "--service-time", "fixed:100ms"], |target| {
        use std::io::Write;
        let address = target.at("").replace("http://", "");
        let mut stream = std::net::TcpStream::connect(address.trim_end_matches('/')).unwrap();
        stream
            .write_all(b"GET /bytes/1 HTTP/1.1\r\nHost: x\r\n\r\n")
            .unwrap();
        // Another request, queued behind it, ends only after it has.
        let waits = thread::spawn({
            let url = target.at("/bytes/2");
            move || ask(&url, 1, 1)
        });
        thread::sleep(std::time::Duration::from_millis(30));
        drop(stream);
        waits.join().unwrap();
    });
    let gone = log.iter().find(|line| line.path == "/bytes/1").unwrap();
    let waited = log.iter().find(|line| line.path == "/bytes/2").unwrap();
    assert_eq!(gone.written, None, "{log:?}");
    assert!(waited.written.is_some(), "{log:?}");
}
