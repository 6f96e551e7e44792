//! What a simulated service does to users and policies that are those of the load engine.
#![allow(missing_docs)]

mod common;

use common::{jobs, simulated};
use patternbench_attemptlog::{Outcome, Row};
use patternbench_load::command_in;
use patternbench_simulation::{Model, Simulated};
use serde_json::{Value, json};
use std::sync::atomic::AtomicBool;

const MODEL: &str = r#"{"model": 1, "service": {"workers": 1, "times": {"fixed_us": 10000}}FAULTS}"#;

fn with(faults: &Value) -> String {
    MODEL.replace("FAULTS", &format!(r#", "faults": {faults}"#))
}

fn constant(rate: f64, seconds: u64, policies: Value) -> Value {
    let open = json!({"open": {"schedule": {"constant": {"rate": rate}}, "max_in_flight": 100_000}});
    let times = json!({"duration_us": seconds * 1_000_000, "drain_us": 30_000_000});
    jobs::of(open, policies, 1, times)
}

fn good_from(rows: &[Row], from_us: i64) -> usize {
    rows.iter()
        .filter(|row| row.success && row.start_us >= from_us)
        .count()
}

#[test]
fn a_frozen_service_answers_when_it_goes_on() {
    let faults = json!([{"kind": {"freeze": {}}, "from_us": 1_000_000, "to_us": 1_500_000}]);
    let rows = simulated(&constant(10.0, 2, json!([])), &with(&faults), 1);
    let ends: Vec<i64> = rows
        .iter()
        .filter(|row| row.start_us == 1_000_000)
        .map(|row| row.end_us)
        .collect();
    assert_eq!(ends, [1_510_000]);
    assert!(rows.iter().all(|row| row.success));
    assert_eq!(
        rows.iter()
            .filter(|row| row.end_us > 1_500_000 && row.start_us < 1_500_000)
            .count(),
        5
    );
}

#[test]
fn a_crashed_service_resets_what_it_had_and_refuses_until_it_is_back() {
    let faults = json!([{"kind": {"crash": {}}, "from_us": 1_005_000, "to_us": 1_500_000}]);
    let rows = simulated(&constant(10.0, 2, json!([])), &with(&faults), 1);
    let lost: Vec<&Row> = rows.iter().filter(|row| !row.success).collect();
    assert!(lost.iter().all(|row| row.outcome == Outcome::ConnectionError));
    assert_eq!(
        lost.first().map(|row| (row.start_us, row.end_us)),
        Some((1_000_000, 1_005_000))
    );
    assert_eq!(
        lost.len(),
        5,
        "the one that was worked on, and those from 1.1 to 1.4 s"
    );
    assert_eq!(good_from(&rows, 1_500_000), 5);
}

#[test]
fn a_crash_forgets_who_waited_and_the_worker_is_free_afterwards() {
    let faults = json!([{"kind": {"crash": {}}, "from_us": 500_000, "to_us": 500_000 + 1}]);
    let rows = simulated(&constant(200.0, 1, json!([])), &with(&faults), 1);
    let after: Vec<&Row> = rows.iter().filter(|row| row.start_us > 500_000).collect();
    assert_eq!(
        after[0].end_us - after[0].start_us,
        10_000,
        "nothing is before it"
    );
    assert!(
        rows.iter()
            .filter(|row| row.outcome == Outcome::ConnectionError)
            .count()
            > 40
    );
}

#[test]
fn a_call_that_was_given_up_is_still_worked_on() {
    let impatient = json!([{"timeout": {"after_us": 15_000}}]);
    let rows = simulated(&constant(150.0, 1, impatient), &MODEL.replace("FAULTS", ""), 1);
    let late = rows.iter().filter(|row| row.outcome == Outcome::Timeout).count();
    assert!(
        late > rows.len() / 2,
        "{late} of {}: whoever waits behind work for nobody is late too",
        rows.len()
    );
}

/// Each call is tried until four seconds have passed: the load that keeps an overload up when its cause is over.
fn tried_again(budget: bool) -> Value {
    let retry = json!({"retry": {"max_attempts": 4, "backoff": {"fixed": {"delay_us": 10_000}}}});
    let few = json!({"retry_budget": {"ratio": 0.1, "capacity": 20}});
    let patience = json!({"timeout": {"after_us": 250_000}});
    if budget {
        json!([retry, few, patience])
    } else {
        json!([retry, patience])
    }
}

#[test]
fn an_overload_stays_when_its_trigger_is_over_unless_retries_have_a_budget() {
    let freeze = json!([{"kind": {"freeze": {}}, "from_us": 10_000_000, "to_us": 12_000_000}]);
    let good = |budget| {
        let rows = simulated(&constant(80.0, 60, tried_again(budget)), &with(&freeze), 1);
        good_from(&rows, 50_000_000) as f64 / 800.0
    };
    assert!(good(false) < 0.1, "{}", good(false));
    assert!(good(true) > 0.95, "{}", good(true));
}

#[test]
fn a_newest_first_queue_answers_somebody_in_an_overload() {
    let service = |order: &str| {
        let queue = format!(r#""queue": {{"order": "{order}"}}"#);
        format!(r#"{{"model": 1, "service": {{"workers": 1, "times": {{"fixed_us": 10000}}, {queue}}}}}"#)
    };
    let patience = json!([{"timeout": {"after_us": 100_000}}]);
    let good = |order| {
        let rows = simulated(&constant(150.0, 20, patience.clone()), &service(order), 1);
        good_from(&rows, 10_000_000)
    };
    assert!(good("lifo") > 600, "{}", good("lifo"));
    assert_eq!(good("fifo"), 0);
}

#[test]
fn the_same_seed_gives_the_same_rows_and_another_one_does_not() {
    let faults = json!([
        {"kind": {"abort": {"percentage": 20, "status": 503}}, "from_us": 0, "to_us": 5_000_000},
        {"kind": {"delay": {"percentage": 30, "duration_us": 5_000}}, "from_us": 0, "to_us": 5_000_000},
    ]);
    let model = with(&faults).replace("\"fixed_us\"", "\"exponential_us\"");
    let rows = |seed| {
        format!(
            "{:?}",
            simulated(&constant(50.0, 5, tried_again(false)), &model, seed)
        )
    };
    assert_eq!(rows(3), rows(3));
    assert_ne!(rows(3), rows(4));
}

#[test]
fn hours_of_load_leave_the_files_of_a_load() {
    let folder = tempfile::tempdir().unwrap();
    let job = folder.path().join("job.json");
    std::fs::write(&job, constant(1.0, 7_200, json!([])).to_string()).unwrap();
    let runtime = Simulated::new(&Model::parse(&MODEL.replace("FAULTS", "")).unwrap());
    let out = folder.path().join("out");
    let summary = command_in(runtime, &job, &out, std::io::sink(), &AtomicBool::new(false)).unwrap();
    assert_eq!(summary["calls"], 7_200, "{summary}");
    assert!(
        ["attempts.parquet", "histograms.json", "summary.json"]
            .iter()
            .all(|file| out.join(file).is_file())
    );
}
