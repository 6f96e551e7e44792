//! Runs jobs against models, in memory.
#![allow(dead_code, missing_docs)]

use patternbench_attemptlog::{AttemptLog, Observer, Row, Settings};
use patternbench_load::job::Job;
use patternbench_load::run_in;
use patternbench_simulation::{Model, Simulated};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

#[derive(Clone, Default)]
struct Rows(Arc<Mutex<Vec<Row>>>);

impl Observer for Rows {
    fn rows(&mut self, rows: &[Row]) {
        self.0.lock().unwrap().extend_from_slice(rows);
    }

    fn tick(&mut self, _: u64, _: u64) {}
}

/// The attempts of a job against a model.
pub fn simulated(job: &Value, model: &str, seed: u64) -> Vec<Row> {
    let model = Model {
        seed,
        ..Model::parse(model).unwrap_or_else(|wrong| panic!("{wrong}"))
    };
    let job = Job::parse(&job.to_string(), Path::new("/nowhere")).unwrap_or_else(|wrong| panic!("{wrong:?}"));
    let rows = Rows::default();
    let settings = Settings {
        file: None,
        groups: job.groups.iter().map(|group| group.name.clone()).collect(),
        steps: job.step_names.clone(),
        journeys: false,
        observer: Some(Box::new(rows.clone())),
    };
    let log = AttemptLog::start(settings).unwrap();
    run_in(Simulated::new(&model), job, log, &AtomicBool::new(false)).unwrap();
    let mut rows = rows.0.lock().unwrap().clone();
    rows.sort_by_key(|row| (row.start_us, row.user, row.call, row.attempt));
    rows
}

/// How long each attempt took, in milliseconds, in the order of their starts.
pub fn sojourns_ms(rows: &[Row]) -> Vec<f64> {
    rows.iter()
        .map(|row| (row.end_us - row.start_us) as f64 / 1000.0)
        .collect()
}

/// When each call began, when it was over, and whether it was good, in the order in which calls began: by the rows that
/// end calls, since attempts of calls that overlap are mixed in the log.
pub fn ends(rows: &[Row]) -> Vec<(i64, i64, bool)> {
    let last = rows.iter().filter(|row| row.call_response_us >= 0);
    let mut ends: Vec<_> = last
        .map(|row| {
            let began = if row.outcome.was_sent() {
                row.end_us - row.call_response_us
            } else {
                row.intended_us
            };
            (began, row.end_us, row.call_success)
        })
        .collect();
    ends.sort_unstable();
    ends
}

/// How many of the seeds have a mean within the interval of its batch means.
pub fn hits(expected_ms: f64, model: &str, rate: f64, seeds: u64) -> u64 {
    (1..=seeds)
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

pub mod jobs {
    use super::{Value, json};

    /// A job of one step with a workload and policies.
    pub fn of(workload: Value, policies: Value, seed: u64, more: Value) -> Value {
        let mut job = json!({
            "contract": 1,
            "seed": seed,
            "targets": [{"url": "http://127.0.0.1:1"}],
            "priority": false,
            "groups": [{"workload": workload, "journeys": [{"steps": [{"timeout_us": 60_000_000}]}]}],
        });
        if policies.as_array().is_some_and(|list| !list.is_empty()) {
            job["policies"] = policies;
        }
        for (name, value) in more.as_object().expect("an object") {
            job[name] = value.clone();
        }
        job
    }

    /// Calls that arrive by chance, at a rate per second and up to a number.
    pub fn poisson(rate: f64, calls: u64, seed: u64) -> Value {
        let open = json!({"open": {"schedule": {"constant": {"rate": rate}}, "spacing": "poisson", "max_in_flight": 100_000, "calls": calls}});
        let lasts = (calls as f64 / rate * 2e6) as u64;
        of(
            open,
            json!([]),
            seed,
            json!({"duration_us": lasts, "drain_us": 60_000_000}),
        )
    }
}
