//! Queues whose times are known, against the simulation of them.
#![allow(missing_docs)]

mod common;

use common::{jobs, simulated, sojourns_ms};

/// How many seeds each queue is simulated with, and how many of them must have the theory within their interval: with
/// 95 % each, 16 or fewer of 20 come up less than once in a hundred times.
const SEEDS: u64 = 20;
const AT_LEAST: u64 = 17;

/// How many of the seeds have a mean within the interval of its batch means.
fn hits(expected_ms: f64, model: &str, rate: f64) -> u64 {
    (1..=SEEDS)
        .filter(|seed| {
            let (mean, half) = batch_means(&sojourns_ms(&simulated(
                &jobs::poisson(rate, 4_000, *seed),
                model,
                *seed,
            )));
            (mean - expected_ms).abs() <= half
        })
        .count() as u64
}

/// The mean after a start, and the half of its 95 % interval, by the means of twenty batches (t with 19 degrees).
fn batch_means(times: &[f64]) -> (f64, f64) {
    const BATCHES: usize = 20;
    const T: f64 = 2.093;
    let kept = &times[times.len() / 20..];
    let means: Vec<f64> = kept
        .chunks_exact(kept.len() / BATCHES)
        .take(BATCHES)
        .map(|batch| batch.iter().sum::<f64>() / batch.len() as f64)
        .collect();
    let mean = means.iter().sum::<f64>() / BATCHES as f64;
    let variance = means.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / (BATCHES - 1) as f64;
    (mean, T * (variance / BATCHES as f64).sqrt())
}

#[test]
fn one_worker_with_exponential_times_is_an_m_m_1() {
    // 1 / (100 - 60) seconds.
    let model = r#"{"model": 1, "service": {"workers": 1, "times": {"exponential_us": 10000}}}"#;
    let found = hits(25.0, model, 60.0);
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
    let found = hits(10.0 + 1000.0 * waits / 90.0, model, 210.0);
    assert!(found >= AT_LEAST, "{found} of {SEEDS}");
}

#[test]
fn any_times_follow_pollaczek_and_khinchine() {
    // Uniform from 0 to 20 ms: mean 10, second moment 400 / 3; the wait is rate * second / 2 / (1 - load).
    let model = r#"{"model": 1, "service": {"workers": 1, "times": {"quantiles_us": [[0, 0], [1, 20000]]}}}"#;
    let found = hits(10.0 + 0.06 * (400.0 / 3.0) / 2.0 / 0.4, model, 60.0);
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
