//! Queues whose times are known, against the simulation of them.
#![allow(missing_docs)]

mod common;

use common::{hits, jobs, simulated, sojourns_ms};

/// How many seeds each queue is simulated with, and how many of them must have the theory within their interval: with
/// 95 % each, 16 or fewer of 20 come up less than once in a hundred times.
const SEEDS: u64 = 20;
const AT_LEAST: u64 = 17;

#[test]
fn one_worker_with_exponential_times_is_an_m_m_1() {
    // 1 / (100 - 60) seconds.
    let model = r#"{"model": 1, "service": {"workers": 1, "times": {"exponential_us": 10000}}}"#;
    let found = hits(25.0, model, 60.0, SEEDS);
    assert!(found >= AT_LEAST, "{found} of {SEEDS}");
}

#[test]
fn several_workers_are_an_m_m_c() {
    // Erlang's C for 3 workers at 2.1 of load: 0.4923; its wait is C / (300 - 210) seconds.
    let load: f64 = 2.1;
    let terms: f64 = 1.0 + load + load * load / 2.0;
    let full = load.powi(3) / 6.0 / (1.0 - load / 3.0);
    let waits = full / (terms + full);
    let model = r#"{"model": 1, "service": {"workers": 3, "times": {"exponential_us": 10000}}}"#;
    let found = hits(10.0 + 1000.0 * waits / 90.0, model, 210.0, SEEDS);
    assert!(found >= AT_LEAST, "{found} of {SEEDS}");
}

#[test]
fn any_times_follow_pollaczek_and_khinchine() {
    // Uniform from 0 to 20 ms: mean 10, second moment 400 / 3; the wait is rate * second / 2 / (1 - load).
    let model = r#"{"model": 1, "service": {"workers": 1, "times": {"quantiles_us": [[0, 0], [1, 20000]]}}}"#;
    let found = hits(10.0 + 0.06 * (400.0 / 3.0) / 2.0 / 0.4, model, 60.0, SEEDS);
    assert!(found >= AT_LEAST, "{found} of {SEEDS}");
}

#[test]
fn a_service_without_waiting_takes_its_time_and_the_networks() {
    let model =
        r#"{"model": 1, "network_us": 250, "service": {"workers": 1000, "times": {"fixed_us": 1000}}}"#;
    let times = sojourns_ms(&simulated(&jobs::poisson(50.0, 500, 1), model, 1));
    assert!(
        times.iter().all(|ms| (ms - 1.5).abs() < 1e-9),
        "{:?}",
        &times[..5]
    );
}
