//! The verb `load`.

use patternbench_load::{CommandError, command};
use serde_json::json;
use signal_hook::consts::{SIGINT, SIGTERM};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Drive the load that a job describes, and record every attempt.
///
/// The job is JSON as in contracts/load/job.schema.json. The folder receives attempts.parquet, histograms.json and
/// summary.json. Standard output carries one line of JSON four times a second, and a last one with the summary or with
/// what is wrong. Exits with 0 when the load was driven, 2 when the job is wrong, 1 when something else went wrong.
#[derive(clap::Args)]
#[command(after_help = EXAMPLE)]
pub struct Arguments {
    /// The job.
    #[arg(long, value_name = "FILE")]
    job: PathBuf,
    /// The folder for what comes of it; it is made when it isn't there.
    #[arg(long, value_name = "FOLDER")]
    out: PathBuf,
}

const EXAMPLE: &str = "Example:
  patternbench-engine load --job job.json --out results";

/// Runs the job to its end.
pub fn run(arguments: &Arguments) -> Result<ExitCode, String> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, stop.clone())
            .map_err(|error| format!("signals can't be watched: {error}"))?;
    }
    match command(&arguments.job, &arguments.out, std::io::stdout(), &stop) {
        Ok(summary) => {
            println!("{}", json!({"end": summary}));
            Ok(ExitCode::SUCCESS)
        }
        Err(error) => {
            println!("{}", error.to_json());
            explain(&error);
            Ok(ExitCode::from(error.exit_code()))
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
