//! `patternbench-engine load`: a job in, files and progress out.

use crate::doubts::{Doubt, doubts};
use crate::job::{Job, Workload, folder_of};
use crate::limits::descriptors;
use crate::progress::Progress;
use crate::run::clock::process_cpu;
use crate::run::{Finished, RunError, Runtime, run_from, run_in};
use crate::start::awaited;
use crate::summary::{Frame, histograms, summary};
use patternbench_attemptlog::{AttemptLog, Settings};
use patternbench_schedule::Problem;
use patternbench_wire::read_text;
use serde_json::{Value, json};
use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// The largest job that is read, in bytes.
const LARGEST_JOB: u64 = 64 << 20;

/// Why the command could not do its work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandError {
    /// The job is wrong; nothing was started.
    Problems(Vec<Problem>),
    /// Something else went wrong, in a sentence.
    Failed(String),
}

impl CommandError {
    /// As one line of JSON.
    #[must_use]
    pub fn to_json(&self) -> Value {
        match self {
            Self::Failed(message) => json!({"error": message}),
            Self::Problems(problems) => listed(problems),
        }
    }

    /// The exit code of the process: 2 for a wrong job, 1 for everything else.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        if matches!(self, Self::Problems(_)) { 2 } else { 1 }
    }
}

/// Problems as one line of JSON, in the same form whether there are any or not.
#[must_use]
pub fn listed(problems: &[Problem]) -> Value {
    let problem = |problem: &Problem| json!({"path": problem.path, "value": problem.value, "allowed": problem.allowed, "message": problem.message});
    json!({"problems": problems.iter().map(problem).collect::<Vec<_>>()})
}

/// Reads the job in a file as [`command`] does, and starts nothing.
///
/// # Errors
/// When the job is wrong, or can't be read.
pub fn check(job: &Path) -> Result<(), CommandError> {
    read(job).map(drop)
}

/// The job in a file, and how many file descriptors it may use.
fn read(job: &Path) -> Result<(Job, u64), CommandError> {
    let parsed = parse(job)?;
    let descriptors = descriptors(&parsed).map_err(CommandError::Problems)?;
    Ok((parsed, descriptors))
}

fn parse(job: &Path) -> Result<Job, CommandError> {
    let text = read_text(job, LARGEST_JOB).map_err(|error| failed(job, "read", &error))?;
    Job::parse(&text, &folder_of(job)).map_err(CommandError::Problems)
}

/// Runs the job in a file, writes `attempts.parquet`, `histograms.json` and `summary.json` into a folder, and lines of
/// progress to `progress`; returns the summary. When `stop` becomes true the load ends early, and all is written as usual.
///
/// # Errors
/// When the job is wrong, or something can't be read, written or started.
pub fn command(
    job: &Path,
    out: &Path,
    progress: impl Write + Send + 'static,
    stop: &AtomicBool,
) -> Result<Value, CommandError> {
    command_begun_by(None, job, out, progress, stop)
}

/// The same, except that the load begins at the moment that comes into the file `begin`, where there is one.
///
/// # Errors
/// As for [`command`], and when there is no such moment to come.
pub fn command_begun_by(
    begin: Option<&Path>,
    job: &Path,
    out: &Path,
    mut progress: impl Write + Send + 'static,
    stop: &AtomicBool,
) -> Result<Value, CommandError> {
    let read = read(job)?;
    let begins = begin
        .map(|file| awaited(file, &mut progress, stop))
        .transpose()
        .map_err(CommandError::Failed)?;
    carried_out(read, out, progress, |parsed, log| {
        run_from(parsed, log, begins, stop)
    })
}

/// The same on another runtime than that of sockets, whose connections take no file descriptors.
///
/// # Errors
/// As for [`command`].
pub fn command_in<W: Runtime>(
    runtime: W,
    job: &Path,
    out: &Path,
    progress: impl Write + Send + 'static,
    stop: &AtomicBool,
) -> Result<Value, CommandError> {
    let parsed = parse(job)?;
    carried_out((parsed, 0), out, progress, |parsed, log| {
        run_in(runtime, parsed, log, stop)
    })
}

fn carried_out(
    (parsed, descriptors): (Job, u64),
    out: &Path,
    progress: impl Write + Send + 'static,
    drive: impl FnOnce(Job, AttemptLog) -> Result<Finished, RunError>,
) -> Result<Value, CommandError> {
    fs::create_dir_all(out).map_err(|error| failed(out, "created", &error))?;
    let groups: Vec<String> = parsed.groups.iter().map(|group| group.name.clone()).collect();
    let steps = parsed.step_names.clone();
    let open = parsed
        .groups
        .iter()
        .any(|group| matches!(group.workload, Workload::Open(_)));
    let (allowed, part) = (parsed.lateness, parsed.part);
    let settings = Settings {
        file: parsed.log_attempts.then(|| out.join("attempts.parquet")),
        groups: groups.clone(),
        steps: steps.clone(),
        journeys: parsed.log_journeys,
        observer: Some(Box::new(Progress::new(progress))),
    };
    let before = process_cpu();
    let log = AttemptLog::start(settings).map_err(|error| CommandError::Failed(error.0))?;
    let finished = drive(parsed, log).map_err(|error| CommandError::Failed(error.0))?;
    let frame = Frame {
        groups: &groups,
        steps: &steps,
        part,
        descriptors,
        process_cpu: process_cpu().saturating_sub(before).as_secs_f64(),
    };
    let doubts = doubts(&finished, &finished.written.tally.counts(), open, allowed);
    write_results(out, &finished, &frame, &doubts)
}

fn write_results(
    out: &Path,
    finished: &Finished,
    frame: &Frame<'_>,
    doubts: &[Doubt],
) -> Result<Value, CommandError> {
    let summary = summary(finished, frame, doubts);
    write(&out.join("histograms.json"), &histograms(finished, frame))?;
    write(&out.join("summary.json"), &summary)?;
    if let Some(told) = &finished.told {
        write(&out.join("trace.json"), &json!({"contract": 1, "attempts": told}))?;
    }
    Ok(summary)
}

pub(crate) fn write(path: &Path, value: &Value) -> Result<(), CommandError> {
    fs::write(path, format!("{value:#}\n")).map_err(|error| failed(path, "written", &error))
}

pub(crate) fn failed(path: &Path, what: &str, error: &std::io::Error) -> CommandError {
    CommandError::Failed(format!("{} can't be {what}: {error}", path.display()))
}
