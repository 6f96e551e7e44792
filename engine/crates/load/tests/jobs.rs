//! Jobs that are wrong are refused before anything starts, with everything that is wrong with them.
#![allow(missing_docs)]

mod common;

use common::{job, try_run, with, wrong_paths};
use patternbench_load::{CommandError, command};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::sync::atomic::AtomicBool;

const URL: &str = "http://127.0.0.1:1";

fn closed() -> Value {
    json!({"closed": {"users": 1, "until": {"calls": 1}}})
}

#[test]
fn everything_that_is_wrong_is_listed_at_once() {
    let job = json!({
        "contract": 2, "seed": -1, "targets": [{"url": "ftp://x", "weight": "1"}], "duration": 5, "warm_up_us": "1s",
        "groups": [{"name": "g", "workload": {"open": {"schedule": {"constant": {"rate": -5}}, "max_in_flight": 0}},
                    "journeys": [{"steps": [{"method": "FETCH", "path": "x", "timeout_us": 0, "expect": {"statuses": ["20x"]}}]}]}],
    });
    let mut paths = wrong_paths(&job);
    paths.sort();
    let step = |field: &str| format!("groups[0].journeys[0].steps[0].{field}");
    let mut expected = vec![
        "contract".to_owned(),
        "seed".to_owned(),
        "targets[0].url".to_owned(),
        "targets[0].weight".to_owned(),
        "duration".to_owned(),
        "warm_up_us".to_owned(),
        "groups[0].workload.open.schedule.constant.rate".to_owned(),
        "groups[0].workload.open.max_in_flight".to_owned(),
        step("method"),
        step("path"),
        step("timeout_us"),
        step("expect.statuses[0]"),
    ];
    expected.sort();
    assert_eq!(paths, expected);
}

#[test]
fn every_problem_has_its_four_parts() {
    let Err(CommandError::Problems(problems)) = try_run(&json!({"contract": 1, "colour": "red"})) else {
        panic!("not refused")
    };
    assert!(problems.iter().all(|problem| !problem.allowed.is_empty()
        && !problem.message.is_empty()
        && !problem.value.is_empty()));
    assert_eq!(
        problems
            .iter()
            .map(|problem| problem.path.as_str())
            .collect::<Vec<_>>(),
        ["colour", "seed", "targets", "groups"]
    );
}

#[test]
fn a_journey_without_steps_is_refused() {
    assert_eq!(
        wrong_paths(&job(URL, closed(), json!([]))),
        ["groups[0].journeys[0].steps"]
    );
}

#[test]
fn weights_that_are_zero_everywhere_are_refused() {
    let mut job = with(
        job(URL, closed(), json!([{}])),
        json!({"targets": [{"url": URL, "weight": 0}]}),
    );
    job["groups"][0]["journeys"][0]["weight"] = json!(0);
    assert_eq!(wrong_paths(&job), ["targets", "groups[0].journeys"]);
}

#[test]
fn a_workload_that_never_ends_is_refused() {
    assert_eq!(
        wrong_paths(&job(URL, json!({"closed": {"users": 1}}), json!([{}]))),
        [""]
    );
}

#[test]
fn two_groups_of_one_name_are_refused() {
    let mut job = job(URL, closed(), json!([{}]));
    let group = job["groups"][0].clone();
    job["groups"] = json!([group, group]);
    assert_eq!(wrong_paths(&job), ["groups[1]"]);
}

#[test]
fn a_trace_that_is_missing_or_out_of_order_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("trace.csv");
    std::fs::write(&file, "at_us\n5\n3\n").unwrap();
    let trace = |file: &std::path::Path| {
        job(
            URL,
            json!({"open": {"schedule": {"trace": {"file": file}}}}),
            json!([{}]),
        )
    };
    let place = "groups[0].workload.open.schedule.trace.file";
    assert_eq!(wrong_paths(&trace(&file)), [format!("{place}.line 3")]);
    assert_eq!(wrong_paths(&trace(&folder.path().join("none"))), [place]);
}

#[test]
fn too_few_file_descriptors_are_refused_with_the_remedy() {
    let workload = json!({"closed": {"users": 900_000, "until": {"calls": 1}}});
    let targets = vec![json!({"url": URL}); 900];
    let Err(CommandError::Problems(problems)) = try_run(&with(
        job(URL, workload, json!([{}])),
        json!({"targets": targets}),
    )) else {
        panic!("not refused")
    };
    assert!(problems[0].message.contains("ulimit"), "{problems:?}");
}

#[test]
fn hedged_attempts_count_as_file_descriptors() {
    let hedge = json!([{"hedge": {"max_attempts": 1000, "delay_us": 1}}]);
    let many = json!({"closed": {"users": 1_000_000, "until": {"calls": 1}}});
    assert_eq!(
        wrong_paths(&with(job(URL, many, json!([{}])), json!({"policies": hedge}))),
        ["groups"]
    );
}

#[test]
fn a_ca_file_that_is_missing_is_refused_at_its_place_beside_other_problems() {
    let job = with(
        job("https://127.0.0.1:1", closed(), json!([])),
        json!({"tls": {"ca_file": "none.pem"}}),
    );
    assert_eq!(wrong_paths(&job), ["tls.ca_file", "groups[0].journeys[0].steps"]);
}

#[test]
fn text_that_is_no_json_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("job.json");
    std::fs::write(&file, "{").unwrap();
    let error = patternbench_load::command(&file, folder.path(), std::io::sink(), &AtomicBool::new(false))
        .unwrap_err();
    assert_eq!(error.exit_code(), 2);
}

/// Values that a field may be given by mistake.
fn values() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!(null)),
        Just(json!([])),
        Just(json!({})),
        Just(json!("")),
        Just(json!("${")),
        Just(json!(true)),
        any::<i64>().prop_map(|number| json!(number)),
        any::<f64>().prop_map(|number| json!(number)),
        "[ -~]{0,20}".prop_map(|text| json!(text)),
        Just(json!({"constant": {"rate": 1e300}})),
        Just(json!([{"name": "x"}])),
    ]
}

/// Puts a value at some place of a document, chosen by a number.
fn put(document: &mut Value, place: &mut usize, value: &Value) {
    if *place == 0 {
        *document = value.clone();
    }
    *place = place.wrapping_sub(1);
    match document {
        Value::Object(map) => map.values_mut().for_each(|inner| put(inner, place, value)),
        Value::Array(list) => list.iter_mut().for_each(|inner| put(inner, place, value)),
        _ => {}
    }
}

/// The examples of the contract, as documents.
fn examples() -> Vec<Value> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../contracts/load/examples");
    let paths = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut paths: Vec<_> = paths
        .filter(|path| path.extension().is_some_and(|is| is == "json"))
        .collect();
    paths.sort();
    let read = |path| serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    paths.iter().map(read).collect()
}

/// A document with fields that the examples don't have.
fn further() -> Value {
    with(
        job(
            URL,
            json!({"open": {"schedule": {"steps": [{"rate": 5, "for_us": 1000}]}, "spacing": "poisson"}}),
            json!([{"name": "a", "path": "/x", "headers": {"A": "b"}, "body": "x", "max_redirects": 2, "expect": {"statuses": [200, "300-302"]}}]),
        ),
        json!({"duration_us": 1000, "tls": {"verify": false}}),
    )
}

const KEYS: [&str; 13] = [
    "contract", "seed", "targets", "groups", "workload", "open", "closed", "schedule", "journeys", "steps",
    "json", "policies", "url",
];

/// Any document, with the names of fields that jobs have among its keys.
fn documents() -> impl Strategy<Value = Value> {
    let key = prop_oneof![
        proptest::sample::select(&KEYS[..]).prop_map(str::to_owned),
        "[ -~]{0,5}"
    ];
    values().prop_recursive(6, 60, 6, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            proptest::collection::vec((key.clone(), inner), 0..6)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

/// Parses a document; what is refused has its reasons.
fn parse(text: &str) -> bool {
    match patternbench_load::job::Job::parse(text, std::path::Path::new("/nowhere")) {
        Ok(_) => true,
        Err(problems) => {
            assert!(!problems.is_empty() && problems.iter().all(|problem| !problem.message.is_empty()));
            false
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn no_mutation_of_a_job_makes_the_parser_panic(which in any::<proptest::sample::Index>(), place in 0usize..120, value in values(), other in 0usize..120, second in values()) {
        let mut all = examples();
        all.push(further());
        let mut document = which.get(&all).clone();
        put(&mut document, &mut place.clone(), &value);
        put(&mut document, &mut other.clone(), &second);
        parse(&document.to_string());
    }

    #[test]
    fn a_document_that_is_no_job_has_its_problems(document in documents()) {
        prop_assert!(!parse(&document.to_string()));
    }

    #[test]
    fn text_that_is_cut_or_bent_has_its_problems(which in any::<proptest::sample::Index>(), cut in any::<proptest::sample::Index>(), byte in "[ -~]") {
        let text = which.get(&examples()).to_string();
        let at = cut.index(text.len());
        prop_assert!(!parse(&text[..at]));
        // A bracket, a colon or a comma that is missing or one too many.
        let longer = text + &byte;
        prop_assert!(!parse(&longer) || byte == " ");
    }
}

#[test]
fn every_example_of_the_contract_is_a_job() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../contracts/load/examples");
    let mut count = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "json") {
            let parsed =
                patternbench_load::job::Job::parse(&std::fs::read_to_string(&path).unwrap(), &folder);
            assert!(parsed.is_ok(), "{}: {:?}", path.display(), parsed.err());
            count += 1;
        }
    }
    assert!(count >= 10, "{count}");
}

#[test]
fn a_job_or_a_feeder_that_never_ends_is_refused_before_it_is_read() {
    let out = tempfile::tempdir().unwrap();
    let stop = AtomicBool::new(false);
    let endless = std::path::Path::new("/dev/zero");
    let error = command(endless, out.path(), std::io::sink(), &stop).unwrap_err();
    let message = "/dev/zero can't be read: it is a folder, a pipe, a socket or a device; a file is needed";
    assert_eq!(error, CommandError::Failed(message.to_owned()));

    let mut job = job(URL, closed(), json!([{"path": "/"}]));
    job["groups"][0]["feeder"] = json!({"file": "/dev/zero"});
    assert_eq!(wrong_paths(&job), ["groups[0].feeder.file"]);
    job["groups"][0].as_object_mut().unwrap().remove("feeder");
    job["tls"] = json!({"ca_file": "/dev/zero"});
    assert_eq!(wrong_paths(&job), ["tls.ca_file"]);
}
