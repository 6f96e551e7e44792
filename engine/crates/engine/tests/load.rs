//! The verb `load` as a process: what it prints, how it exits, and that a signal ends it with everything written.
#![allow(missing_docs)]

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

fn engine(folder: &Path, job: &Value) -> Command {
    std::fs::write(folder.join("job.json"), job.to_string()).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_patternbench-engine"));
    command
        .args(["load", "--job"])
        .arg(folder.join("job.json"))
        .arg("--out")
        .arg(folder.join("out"));
    command
}

/// A job against a port where no one listens: every call fails at once, which is enough here.
fn job(until: &Value) -> Value {
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let workload = json!({"closed": {"users": 2, "think_us": 10_000, "until": until}});
    json!({
        "contract": 1, "seed": 1, "targets": [{"url": format!("http://{address}")}], "duration_us": 60_000_000,
        "groups": [{"workload": workload, "journeys": [{"steps": [{}]}]}],
    })
}

fn lines(output: &[u8]) -> Vec<Value> {
    let text = String::from_utf8_lossy(output);
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn a_job_ends_with_its_summary_and_leaves_three_files() {
    let folder = tempfile::tempdir().unwrap();
    let output = engine(folder.path(), &job(&json!({"calls": 10})))
        .output()
        .unwrap();
    assert!(output.status.success());
    let end = &lines(&output.stdout).pop().unwrap()["end"];
    assert_eq!(
        (&end["requests"], &end["errors"], &end["interrupted"]),
        (&json!(10), &json!(10), &json!(false))
    );
    for name in ["attempts.parquet", "histograms.json", "summary.json"] {
        assert!(folder.path().join("out").join(name).exists(), "{name}");
    }
}

#[test]
fn a_wrong_job_is_explained_twice_and_nothing_is_started() {
    let folder = tempfile::tempdir().unwrap();
    let output = engine(folder.path(), &json!({"contract": 1, "sed": 1}))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(lines(&output.stdout)[0]["problems"][0]["path"], "sed");
    assert!(String::from_utf8_lossy(&output.stderr).contains("error: sed: is not a field here"));
    assert!(!folder.path().join("out").exists());
}

/// People read what is wrong on standard error, with the same value and the same limits as programs read them.
#[test]
fn what_people_read_of_a_wrong_job_has_its_value_and_what_is_allowed_in_their_places() {
    let folder = tempfile::tempdir().unwrap();
    let mut wrong = job(&json!({"calls": 10}));
    wrong["seed"] = json!("seven");
    let output = engine(folder.path(), &wrong).output().unwrap();
    let problems = &lines(&output.stdout)[0]["problems"];
    let text = |name: &str| problems[0][name].as_str().unwrap().to_owned();
    assert_eq!((text("path"), text("value")), ("seed".into(), "\"seven\"".into()));
    let explained = format!(
        "error: seed: {} (is \"seven\"; allowed: {})\n",
        text("message"),
        text("allowed")
    );
    assert_eq!(String::from_utf8_lossy(&output.stderr), explained);
}

#[test]
fn a_generator_that_stood_still_until_after_the_end_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let mut job = job(&json!(null));
    (job["duration_us"], job["drain_us"]) = (json!(500_000), json!(100_000));
    job["groups"][0]["workload"]["closed"]
        .as_object_mut()
        .unwrap()
        .remove("until");
    let mut child = engine(folder.path(), &job)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let pid = Pid::from_child(&child);
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    output.read_line(&mut line).unwrap(); // the first sign of progress: it is on its way
    kill_process(pid, Signal::STOP).unwrap();
    std::thread::sleep(Duration::from_secs(2));
    kill_process(pid, Signal::CONT).unwrap();
    let end = output.lines().last().unwrap().unwrap();
    let end: Value = serde_json::from_str(&end).unwrap();
    assert_eq!(end["end"]["valid"], json!(false), "{end}");
    let doubts = end["end"]["doubts"].as_array().unwrap();
    assert!(
        doubts.iter().any(|doubt| doubt["name"] == "generator_held_up"),
        "{end}"
    );
    child.wait().unwrap();
}

#[test]
fn a_file_that_is_not_there_is_one_line() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_patternbench-engine"));
    let output = command
        .args(["load", "--job", "/no/such/job.json", "--out", "/no/such/folder"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(String::from_utf8_lossy(&output.stderr).lines().count(), 1);
}

#[test]
fn a_signal_ends_the_load_with_everything_written() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = engine(folder.path(), &job(&Value::Null))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut reader = BufReader::new(child.stdout.take().unwrap());
    let mut requests = || {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let progress: Value = serde_json::from_str(&line).unwrap();
        progress["progress"]["requests"].as_u64().unwrap()
    };
    assert_eq!(requests(), 0, "the first line is written as the round begins");
    assert!(requests() > 0);
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let rest: Vec<String> = reader.lines().map(Result::unwrap).collect();
    assert!(child.wait().unwrap().success());
    let end: Value = serde_json::from_str(rest.last().unwrap()).unwrap();
    assert_eq!(end["end"]["interrupted"], true);
    assert!(folder.path().join("out/attempts.parquet").exists());
}

/// Has a job checked: its exit code, and what it says.
fn checked(folder: &Path, job: &Value) -> (Option<i32>, Vec<Value>) {
    let file = folder.join("job.json");
    std::fs::write(&file, job.to_string()).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_patternbench-engine"));
    let output = command
        .args(["load", "--check", "--job"])
        .arg(file)
        .output()
        .unwrap();
    (output.status.code(), lines(&output.stdout))
}

#[test]
fn a_check_lists_everything_that_is_wrong_and_drives_no_load() {
    let folder = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let mut job = job(&json!({"calls": 10}));
    job["targets"][0]["url"] = json!(format!("http://{}", listener.local_addr().unwrap()));
    assert_eq!(
        checked(folder.path(), &job),
        (Some(0), vec![json!({"problems": []})])
    );
    job["seed"] = json!("x");
    job["groups"][0]["workload"]["closed"]["users"] = json!(0);
    let (code, said) = checked(folder.path(), &job);
    let paths: Vec<_> = said[0]["problems"]
        .as_array()
        .unwrap()
        .iter()
        .map(|problem| problem["path"].as_str().unwrap())
        .collect();
    assert_eq!(
        (code, paths),
        (Some(2), vec!["seed", "groups[0].workload.closed.users"])
    );
    assert!(listener.accept().is_err(), "nobody has connected");
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(left.len(), 1, "nothing but the job itself");
}

#[test]
fn a_check_wants_no_folder_and_a_run_does() {
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_patternbench-engine"));
        let output = command.args(arguments).output().unwrap();
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert!(run(&["load", "--job", "x"]).contains("--out"));
    assert!(run(&["load", "--check", "--job", "x", "--out", "y"]).contains("cannot be used with"));
}

/// A part of a job that waits for its beginning, and what it prints.
fn part(
    folder: &Path,
    job: &Value,
    index: u32,
    of: u32,
) -> (std::process::Child, BufReader<std::process::ChildStdout>) {
    let mine = folder.join(format!("generator-{}", index + 1));
    std::fs::create_dir(&mine).unwrap();
    let mut job = job.clone();
    job["part"] = json!({"index": index, "of": of});
    let mut command = engine(&mine, &job);
    command.arg("--begin").arg(mine.join("begin"));
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    assert_eq!(
        line, "{\"ready\": true}\n",
        "nothing is said before, and nothing sent"
    );
    (child, said)
}

fn begin(folder: &Path, index: u32, at: u128) {
    let mine = folder.join(format!("generator-{}", index + 1));
    std::fs::write(mine.join("draft"), at.to_string()).unwrap();
    std::fs::rename(mine.join("draft"), mine.join("begin")).unwrap();
}

fn now() -> u128 {
    let now = std::time::SystemTime::now();
    now.duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos()
}

#[test]
fn generators_that_are_told_begin_at_one_instant_and_their_summaries_are_united() {
    let folder = tempfile::tempdir().unwrap();
    let mut job = job(&Value::Null);
    job["duration_us"] = json!(1_000_000);
    let open = json!({"open": {"schedule": {"constant": {"rate": 200}}, "users": 3}});
    job["groups"][0]["workload"] = open;
    let mut parts: Vec<_> = (0..2).map(|index| part(folder.path(), &job, index, 2)).collect();
    let at = now() + 300_000_000;
    (0..2).for_each(|index| begin(folder.path(), index, at));
    let ends: Vec<Value> = parts
        .iter_mut()
        .map(|(child, said)| {
            let last = said.lines().last().unwrap().unwrap();
            assert!(child.wait().unwrap().success());
            serde_json::from_str::<Value>(&last).unwrap()["end"].clone()
        })
        .collect();
    let began = |end: &Value| end["generator"]["began_us"].as_i64().unwrap();
    assert!((began(&ends[0]) - began(&ends[1])).abs() < 1000, "{ends:?}");
    let out = folder.path().join("all");
    let output = Command::new(env!("CARGO_BIN_EXE_patternbench-engine"))
        .arg("unite")
        .args((1..=2).map(|number| folder.path().join(format!("generator-{number}/out"))))
        .arg("--out")
        .arg(&out)
        .output()
        .unwrap();
    let all = &lines(&output.stdout)[0]["end"];
    assert_eq!(
        (&all["requests"], &all["errors"], &all["calls"]),
        (&json!(200), &json!(200), &json!(200))
    );
    assert_eq!(all["outcomes"]["connection_error"], 200);
    let doubts: Vec<_> = all["doubts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|doubt| doubt["name"].as_str().unwrap())
        .collect();
    assert!(
        doubts.contains(&"nothing_succeeded") && !doubts.contains(&"few_calls"),
        "{doubts:?}"
    );
    let text = std::fs::read_to_string(out.join("histograms.json")).unwrap();
    let histograms: Value = serde_json::from_str(&text).unwrap();
    let response = histograms["histograms"]
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["measure"] == "response")
        .unwrap();
    assert_eq!(response["count"], 200);
}

#[test]
fn a_generator_that_hears_too_late_when_to_begin_does_not_begin() {
    let folder = tempfile::tempdir().unwrap();
    let (mut child, mut said) = part(folder.path(), &job(&json!({"calls": 10})), 0, 2);
    begin(folder.path(), 0, now() - 5_000_000);
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    assert!(line.contains("ms before that was known"), "{line}");
    assert_eq!(child.wait().unwrap().code(), Some(1));
}

#[test]
fn a_signal_ends_a_generator_that_was_never_told_to_begin() {
    let folder = tempfile::tempdir().unwrap();
    let (mut child, _said) = part(folder.path(), &job(&json!({"calls": 10})), 1, 2);
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1));
}

#[test]
fn what_is_no_folder_of_a_generator_is_not_united() {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_patternbench-engine"))
        .arg("unite")
        .arg(folder.path())
        .arg("--out")
        .arg(folder.path().join("all"))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        lines(&output.stdout)[0]["error"]
            .as_str()
            .unwrap()
            .contains("summary.json can't be read")
    );
}
