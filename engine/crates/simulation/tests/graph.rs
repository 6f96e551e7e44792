//! Services that call each other, against theory and against what policies and faults do to one.
#![allow(missing_docs)]

mod common;

use common::{ends, hits, jobs, simulated, sojourns_ms};
use patternbench_attemptlog::{Outcome, Row};
use serde_json::{Value, json};

/// How many seeds each network is simulated with, and how many of them must have the theory within their interval.
const SEEDS: u64 = 20;
const AT_LEAST: u64 = 17;

fn calls(per_s: f64, seconds: u64) -> Value {
    let open = json!({"open": {"schedule": {"constant": {"rate": per_s}}, "max_in_flight": 100_000}});
    let times = json!({"duration_us": seconds * 1_000_000, "drain_us": 30_000_000});
    jobs::of(open, json!([]), 1, times)
}

fn rows(model: &Value, job: &Value) -> Vec<Row> {
    simulated(job, &model.to_string(), 1)
}

/// A shop without work of its own, and what it calls.
fn shop(calls: Value, others: Value) -> Value {
    let mut services = others;
    services["shop"] = json!({"workers": 100_000, "times": {"fixed_us": 0}, "calls": calls});
    json!({"model": 1, "entry": "shop", "services": services})
}

fn queue(mean_us: f64) -> Value {
    json!({"workers": 1, "times": {"exponential_us": mean_us}})
}

#[test]
fn two_calls_together_are_a_fork_join_queue() {
    // Nelson and Tantawi, Approximate analysis of fork/join synchronization in parallel queues, IEEE Transactions on
    // Computers 37 (1988): (12 - load) / 8 times the response time of one M/M/1, exact for two.
    let model = shop(
        json!([[{"to": "a"}, {"to": "b"}]]),
        json!({"a": queue(10_000.0), "b": queue(10_000.0)}),
    );
    let expected_ms = (12.0 - 0.6) / 8.0 * 25.0;
    let found = hits(expected_ms, &model.to_string(), 60.0, SEEDS);
    assert!(found >= AT_LEAST, "{found} of {SEEDS}");
}

#[test]
fn two_stages_are_two_queues_in_a_row() {
    // Burke's theorem: what leaves an M/M/1 is a Poisson process, so that the times of both add up.
    let model = shop(
        json!([[{"to": "a"}], [{"to": "b"}]]),
        json!({"a": queue(10_000.0), "b": queue(8_000.0)}),
    );
    let found = hits(25.0 + 1000.0 / (125.0 - 60.0), &model.to_string(), 60.0, SEEDS);
    assert!(found >= AT_LEAST, "{found} of {SEEDS}");
}

/// The mean time in a single server without room to wait, whose customers try again after an exponential time, the
/// first time included, in milliseconds: by the exact probabilities of how many are away, level after level.
fn retrial_ms(arrivals: f64, served: f64, tries: f64) -> f64 {
    let (mut idle, mut busy) = (1.0, arrivals / served);
    let (mut sum, mut inside) = (idle + busy, busy);
    for away in 1..5_000 {
        let away = f64::from(away);
        // Between two levels as many go up as come down; and who finds the server idle is as often served.
        let next = arrivals * (idle + busy) / (away * tries);
        busy = ((arrivals + away * tries) * next - arrivals * idle) / served;
        idle = next;
        sum += idle + busy;
        inside += away * idle + (away + 1.0) * busy;
    }
    1000.0 * inside / sum / arrivals
}

#[test]
fn the_chain_of_retrials_is_an_m_m_1_where_nobody_stays_away_for_long() {
    let (arrivals, served, tries) = (50.0, 100.0, 40.0);
    let at_once = retrial_ms(arrivals, served, 1e7);
    assert!((at_once - 1000.0 / (served - arrivals)).abs() < 0.1, "{at_once}");
    let chain = retrial_ms(arrivals, served, tries);
    assert!(chain > at_once + 1000.0 / tries, "{chain}");
}

#[test]
fn calls_that_are_tried_again_are_a_queue_with_retrials() {
    // Each attempt waits in the door for an exponential time, then finds the server idle or is turned away.
    let again = json!([{"retry": {"max_attempts": 1000, "backoff": {"fixed": {"delay_us": 0}}}}]);
    let model = shop(
        json!([[{"to": "door", "policies": again}]]),
        json!({
            "door": {"workers": 100_000, "times": {"exponential_us": 25_000}, "calls": [[{"to": "server"}]]},
            "server": {"workers": 1, "times": {"exponential_us": 10_000}, "queue": {"limit": 0}},
        }),
    );
    let found = hits(retrial_ms(50.0, 100.0, 40.0), &model.to_string(), 50.0, SEEDS);
    assert!(found >= AT_LEAST, "{found} of {SEEDS}");
}

#[test]
fn a_full_queue_turns_away_as_many_as_erlang_says() {
    // Erlang's B for two servers at a load of 1: (1/2) / (1 + 1 + 1/2) = 0.2.
    let model = json!({"model": 1, "service": {"workers": 2, "times": {"exponential_us": 10_000}, "queue": {"limit": 0}}});
    let shares: Vec<f64> = (1..=SEEDS)
        .map(|seed| {
            let rows = simulated(&jobs::poisson(100.0, 4_000, seed), &model.to_string(), seed);
            rows.iter().filter(|row| row.status == 503).count() as f64 / rows.len() as f64
        })
        .collect();
    let mean = shares.iter().sum::<f64>() / shares.len() as f64;
    assert!((mean - 0.2).abs() < 0.01, "{mean}");
}

#[test]
fn a_call_that_fails_fails_its_request_unless_that_is_ignored() {
    let broken = json!({"workers": 1, "times": {"fixed_us": 1000}, "queue": {"limit": 0}});
    let busy = |ignored: bool| {
        let call = json!([[{"to": "a", "ignored": ignored}, {"to": "a", "ignored": ignored}]]);
        rows(&shop(call, json!({"a": broken})), &calls(10.0, 1))
    };
    assert!(
        busy(false).iter().all(|row| row.status == 502),
        "the second finds no worker"
    );
    assert!(busy(true).iter().all(|row| row.success));
}

#[test]
fn a_service_tries_again_by_its_own_policies() {
    let again = json!([{"retry": {"max_attempts": 3, "backoff": {"fixed": {"delay_us": 2_000}}}}]);
    let model = shop(
        json!([[{"to": "a", "policies": again}, {"to": "a", "policies": again}]]),
        json!({"a": {"workers": 1, "times": {"fixed_us": 1000}, "queue": {"limit": 0}}}),
    );
    let rows = rows(&model, &calls(10.0, 1));
    let times: Vec<f64> = sojourns_ms(&rows);
    assert!(rows.iter().all(|row| row.success));
    assert!(
        times.iter().all(|ms| (ms - 3.0).abs() < 1e-9),
        "{:?}",
        &times[..3]
    );
}

#[test]
fn a_timeout_ends_a_call_on_which_its_service_works_on() {
    let bound = json!([{"timeout": {"after_us": 4_000}}]);
    let model = shop(
        json!([[{"to": "a", "policies": bound}]]),
        json!({"a": {"workers": 1, "times": {"fixed_us": 10_000}}}),
    );
    let rows = rows(&model, &calls(50.0, 1));
    assert!(
        rows.iter()
            .all(|row| row.status == 502 && row.end_us - row.start_us == 4_000)
    );
}

#[test]
fn a_worker_waits_for_its_calls_unless_it_does_not() {
    let model = |waits: bool| {
        json!({"model": 1, "entry": "shop", "services": {
            "shop": {"workers": 1, "times": {"fixed_us": 0}, "calls": [[{"to": "a"}]], "waits": waits},
            "a": {"workers": 10, "times": {"fixed_us": 10_000}},
        }})
    };
    let job = jobs::of(
        json!({"closed": {"users": 2, "think_us": 0, "until": {"calls_per_user": 1}}}),
        json!([]),
        1,
        json!({"duration_us": 1_000_000}),
    );
    let last = |waits| rows(&model(waits), &job).iter().map(|row| row.end_us).max();
    assert_eq!((last(true), last(false)), (Some(20_000), Some(10_000)));
}

#[test]
fn replicas_share_the_load_and_have_queues_of_their_own() {
    let model = |replicas: u32, balance: &str| {
        let service = json!({"workers": 1, "times": {"exponential_us": 10_000}, "replicas": replicas, "balance": balance});
        json!({"model": 1, "service": service}).to_string()
    };
    // Two M/M/1 at half the rate each, where chance deals requests out.
    let found = hits(1000.0 / (100.0 - 60.0), &model(2, "random"), 120.0, SEEDS);
    assert!(found >= AT_LEAST, "{found} of {SEEDS}");
    let mean = |balance| {
        let times = sojourns_ms(&simulated(&jobs::poisson(120.0, 8_000, 1), &model(2, balance), 1));
        times.iter().sum::<f64>() / times.len() as f64
    };
    assert!(mean("least_busy") < mean("round_robin"));
    assert!(mean("round_robin") < mean("random"));
}

#[test]
fn a_door_lets_so_many_in() {
    let model = json!({"model": 1, "service": {"workers": 10, "times": {"fixed_us": 100},
        "door": {"calls": 20, "per_us": 1_000_000, "burst": 1, "status": 429}}});
    let rows = rows(&model, &calls(40.0, 2));
    let refused = rows.iter().filter(|row| row.status == 429).count();
    assert_eq!((rows.len(), refused), (80, 40));
}

#[test]
fn requests_of_a_path_take_the_time_of_their_operation() {
    let operations = json!({"/slow": {"times": {"fixed_us": 9_000}}});
    let model = json!({"model": 1, "service": {"workers": 10, "times": {"fixed_us": 1_000}, "operations": operations}});
    let mut job = calls(10.0, 1);
    let steps =
        json!([{"path": "/slow", "timeout_us": 1_000_000}, {"path": "/other", "timeout_us": 1_000_000}]);
    job["groups"][0]["journeys"][0]["steps"] = steps;
    let times = sojourns_ms(&rows(&model, &job));
    let of = |wanted: f64| times.iter().filter(|ms| (**ms - wanted).abs() < 1e-9).count();
    assert_eq!((of(9.0), of(1.0)), (10, 10));
}

#[test]
fn what_waits_at_a_partition_arrives_when_it_ends() {
    let model = json!({"model": 1, "service": {"workers": 10, "times": {"fixed_us": 1_000}},
        "faults": [{"kind": {"partition": {}}, "from_us": 200_000, "to_us": 450_000}]});
    let rows = rows(&model, &calls(10.0, 1));
    let late: Vec<i64> = rows
        .iter()
        .filter(|row| row.end_us - row.start_us > 1_000)
        .map(|row| row.end_us)
        .collect();
    assert_eq!(late, [451_000, 451_000, 451_000]);
    assert!(rows.iter().all(|row| row.success));
}

#[test]
fn a_fault_acts_on_the_link_and_the_service_that_it_names() {
    let with = |fault: Value| {
        let mut model = shop(
            json!([[{"to": "a"}]]),
            json!({"a": {"workers": 1, "times": {"fixed_us": 1000}}}),
        );
        model["faults"] = json!([fault]);
        rows(&model, &calls(10.0, 1))
    };
    let window = |fault: Value| {
        let mut fault = fault;
        (fault["from_us"], fault["to_us"]) = (json!(0), json!(10_000_000));
        fault
    };
    let abort = json!({"abort": {"percentage": 100, "status": 500}});
    let inside = with(window(json!({"kind": abort, "from": "shop", "at": "a"})));
    assert!(
        inside.iter().all(|row| row.status == 502),
        "the shop answers for what it called"
    );
    let edge = with(window(json!({"kind": abort, "at": "shop"})));
    assert!(edge.iter().all(|row| row.status == 500));
    let frozen = with(json!({"kind": {"freeze": {}}, "at": "a", "from_us": 300_000, "to_us": 350_000}));
    let slow: Vec<i64> = frozen
        .iter()
        .map(|row| row.end_us - row.start_us)
        .filter(|us| *us > 1_000)
        .collect();
    assert_eq!(slow, [51_000]);
}

#[test]
fn connections_are_refused_cut_and_stalled() {
    let with = |kind: Value| {
        let model = json!({"model": 1, "service": {"workers": 10, "times": {"fixed_us": 1_000}},
            "faults": [{"kind": kind, "from_us": 450_000, "to_us": 750_000}]});
        rows(&model, &calls(10.0, 1))
    };
    for kind in [json!({"refuse": {}}), json!({"reset": {"percentage": 100}})] {
        let failed: Vec<Row> = with(kind).into_iter().filter(|row| !row.success).collect();
        assert_eq!(
            failed.iter().map(|row| row.start_us).collect::<Vec<_>>(),
            [500_000, 600_000, 700_000]
        );
        assert!(failed.iter().all(|row| row.outcome == Outcome::ConnectionError));
    }
    let stalled = with(json!({"stall": {"percentage": 100}}));
    let ends: Vec<i64> = stalled
        .iter()
        .filter(|row| !row.success)
        .map(|row| row.end_us)
        .collect();
    assert_eq!(ends, [750_000, 750_000, 750_000]);
}

#[test]
fn a_new_connection_takes_its_time() {
    let model = json!({"model": 1, "network_us": 100, "connect_us": 500, "service": {"workers": 10, "times": {"fixed_us": 1_000}}});
    let times = |connection: &str| {
        let mut job = calls(10.0, 1);
        job["groups"][0]["connection"] = json!(connection);
        sojourns_ms(&rows(&model, &job))
    };
    assert!(times("new").iter().all(|ms| (ms - 1.7).abs() < 1e-9));
    let kept = times("reuse");
    assert!(
        (kept[0] - 1.7).abs() < 1e-9 && kept[1..].iter().all(|ms| (ms - 1.2).abs() < 1e-9),
        "{kept:?}"
    );
}

#[test]
fn a_graph_gives_the_same_rows_for_the_same_seed() {
    let again =
        json!([{"retry": {"max_attempts": 3, "backoff": {"fixed": {"delay_us": 500}}, "jitter": "full"}}]);
    let mut model = shop(
        json!([[{"to": "a", "policies": again, "share": 0.7}, {"to": "b"}], [{"to": "b"}]]),
        json!({"a": queue(3_000.0), "b": {"workers": 2, "times": {"exponential_us": 4_000}, "replicas": 2, "balance": "random"}}),
    );
    model["faults"] = json!([
        {"kind": {"abort": {"percentage": 20, "status": 503}}, "from": "shop", "at": "a", "from_us": 0, "to_us": 9_000_000},
        {"kind": {"crash": {}}, "at": "b", "from_us": 2_000_000, "to_us": 2_500_000},
    ]);
    let text = |seed| format!("{:?}", simulated(&calls(80.0, 5), &model.to_string(), seed));
    assert_eq!(text(3), text(3));
    assert_ne!(text(3), text(4));
}

#[test]
fn nothing_is_kept_of_requests_that_are_over() {
    // Whatever ends a request (its answer, a crash, a refusal, a caller who gave up) frees its place: a worker that
    // was forgotten would leave the service with fewer and fewer, and in the end with none.
    let faults: Vec<Value> = (0..20)
        .map(|turn| {
            let kind = [json!({"crash": {}}), json!({"refuse": {}}), json!({"freeze": {}})][turn % 3].clone();
            json!({"kind": kind, "from_us": 100_000 + 200_000 * turn, "to_us": 150_000 + 200_000 * turn})
        })
        .collect();
    let model = json!({"model": 1, "service": {"workers": 2, "times": {"exponential_us": 5_000}, "queue": {"deadline_us": 20_000}}, "faults": faults});
    let open = json!({"open": {"schedule": {"constant": {"rate": 300}}, "max_in_flight": 100_000}});
    let job = jobs::of(
        open,
        json!([{"timeout": {"after_us": 15_000}}]),
        1,
        json!({"duration_us": 10_000_000}),
    );
    let rows = rows(&model, &job);
    let late: Vec<&Row> = rows.iter().filter(|row| row.start_us > 9_000_000).collect();
    let good = late.iter().filter(|row| row.success).count() as f64 / late.len() as f64;
    assert!(good > 0.5, "{good}");
}

#[test]
fn a_service_decides_by_its_policies_what_the_load_decides_by_the_same() {
    let retry = json!({"retry": {"max_attempts": 3, "backoff": {"exponential": {"initial_us": 4_000, "multiplier": 2}}}});
    // A further attempt that is rejected ends its call at the moment of the rejection, and its last row is the one before:
    // without a pause both are one.
    let at_once = json!({"retry": {"max_attempts": 3, "backoff": {"fixed": {"delay_us": 0}}}});
    let (patience, last) = (
        json!({"timeout": {"after_us": 30_000}}),
        json!({"deadline": {"after_us": 60_000}}),
    );
    let breaker = json!({"circuit_breaker": {"failure_rate": 50, "window": {"calls": 6}, "minimum_calls": 4,
        "open_for_us": 150_000, "half_open_calls": 2}});
    let stacks = [
        json!([patience]),
        json!([retry, patience]),
        json!([last, retry, patience]),
        json!([at_once, breaker]),
        json!([at_once, {"retry_budget": {"ratio": 0.2, "capacity": 5}}, patience]),
        json!([last, {"hedge": {"max_attempts": 2, "delay_us": 9_000}}, patience]),
        json!([{"bulkhead": {"max_concurrent": 2, "max_waiting": 3, "max_wait_us": 25_000}}, patience]),
        json!([{"rate_limit": {"calls": 30, "per_us": 1_000_000, "burst": 2, "max_wait_us": 40_000}}]),
    ];
    let service = json!({"workers": 1, "times": {"fixed_us": 18_000}, "queue": {"limit": 2}});
    let faults = |at: &str| {
        json!([
            {"kind": {"freeze": {}}, "at": at, "from_us": 1_000_000, "to_us": 1_300_000},
            {"kind": {"crash": {}}, "at": at, "from_us": 2_000_000, "to_us": 2_200_000},
        ])
    };
    // Two moments are never equal by chance, so that it does not matter who comes first.
    let mut job = calls(45.0, 4);
    job["groups"][0]["workload"]["open"]["spacing"] = json!("poisson");
    for policies in stacks {
        let mut by_load = job.clone();
        by_load["policies"] = policies.clone();
        let alone = json!({"model": 1, "entry": "a", "services": {"a": service}, "faults": faults("a")});
        let mut model = shop(
            json!([[{"to": "a", "policies": policies}]]),
            json!({"a": service}),
        );
        model["faults"] = faults("a");
        let (ours, theirs) = (ends(&rows(&alone, &by_load)), ends(&rows(&model, &job)));
        assert!(ours.len() > 150);
        assert_eq!(ours, theirs, "{policies}");
    }
}
