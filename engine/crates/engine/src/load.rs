//! The verb `load`.

use patternbench_load::{CommandError, check, command_begun_by, listed};
use serde_json::{Value, json};
use signal_hook::consts::{SIGINT, SIGTERM};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Drive the load that a job describes, and record every attempt.
///
/// The job is JSON as in contracts/load/job.schema.json. The folder receives attempts.parquet, histograms.json and
/// summary.json. Standard output carries one line of JSON four times a second, and a last one with the summary or with
/// what is wrong. Exits with 0 when the load was driven, 2 when the job is wrong, 1 when something else went wrong.
/// With --check nothing is driven: one line of JSON lists what is wrong with the job, nothing or everything at once.
#[derive(clap::Args)]
#[command(after_help = EXAMPLE)]
pub struct Arguments {
    /// The job.
    #[arg(long, value_name = "FILE")]
    job: PathBuf,
    /// The folder for what comes of it; it is made when it isn't there.
    #[arg(long, value_name = "FOLDER", required_unless_present = "check")]
    out: Option<PathBuf>,
    /// Begin together with others: print that the load is ready, wait for this file, and begin at the moment in it, in
    /// nanoseconds since 1970.
    #[arg(long, value_name = "FILE", conflicts_with = "check")]
    begin: Option<PathBuf>,
    /// List what is wrong with the job, and drive no load.
    #[arg(long, conflicts_with = "out")]
    check: bool,
}

const EXAMPLE: &str = "Example:
  patternbench-engine load --job job.json --out results
  patternbench-engine load --job job.json --check";

/// Checks the job, or runs it to its end.
pub fn run(arguments: &Arguments) -> Result<ExitCode, String> {
    match &arguments.out {
        Some(out) => drive(&arguments.job, out, arguments.begin.as_deref()),
        None => Ok(told(check(&arguments.job).map(|()| listed(&[])))),
    }
}

fn drive(job: &Path, out: &Path, begin: Option<&Path>) -> Result<ExitCode, String> {
    let stop = stopped_by_signals()?;
    let summary = command_begun_by(begin, job, out, std::io::stdout(), &stop);
    Ok(told(summary.map(|summary| json!({"end": summary}))))
}

/// A flag that becomes true when the process is asked to end.
pub fn stopped_by_signals() -> Result<Arc<AtomicBool>, String> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, stop.clone())
            .map_err(|error| format!("signals can't be watched: {error}"))?;
    }
    Ok(stop)
}

/// Says what came of it in the last line; the exit code.
pub fn told(came: Result<Value, CommandError>) -> ExitCode {
    match came {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            println!("{}", error.to_json());
            explain(&error);
            ExitCode::from(error.exit_code())
        }
    }
}

/// The same for people, on standard error.
fn explain(error: &CommandError) {
    match error {
        CommandError::Failed(message) => eprintln!("error: {message}"),
        CommandError::Problems(problems) => {
            for problem in problems {
                let path = if problem.path.is_empty() {
                    "the job"
                } else {
                    &problem.path
                };
                eprintln!(
                    "error: {path}: {} (is {}; allowed: {})",
                    problem.message, problem.value, problem.allowed
                );
            }
        }
    }
}
