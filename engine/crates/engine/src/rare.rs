//! The verb `rare`.

use crate::load::{stopped_by_signals, told};
use patternbench_load::CommandError;
use patternbench_load::job::Job;
use patternbench_simulation::{
    Effort, Estimate, LevelEstimate, Model, Question, REPETITIONS, RareEvent, estimate,
};
use patternbench_wire::read_text;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The largest job and the largest model that are read, in bytes.
const LARGEST_JOB: u64 = 64 << 20;
const LARGEST_MODEL: u64 = 16 << 20;
/// How often it says how far it is.
const EVERY: Duration = Duration::from_millis(250);

/// Estimate how probable a rare event is within a round in simulated time.
///
/// The job and the model are those of `simulate`. The event is JSON as in contracts/load/README.md: waiting, in_flight
/// or no_success. Paths that come nearer are continued in several ways (multilevel splitting). Standard output carries
/// lines of JSON with the number of paths so far, and a last one with each level's probability. Exit codes are those of
/// `load`, and 2 for a wrong model or event.
#[derive(clap::Args)]
#[command(after_help = EXAMPLE)]
pub struct Arguments {
    /// The job; its targets are only names.
    #[arg(long, value_name = "FILE")]
    job: PathBuf,
    /// The system.
    #[arg(long, value_name = "FILE")]
    model: PathBuf,
    /// The event.
    #[arg(long, value_name = "JSON")]
    event: String,
    /// Paths to each level, in each of 20 repetitions.
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    paths: u32,
    /// What everything is drawn from.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Threads.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    cores: u32,
}

const EXAMPLE: &str = r#"Example:
  patternbench-engine rare --job job.json --model model.json --event '{"waiting": {"reaches": 40}}'"#;

/// Estimates to the end.
pub fn run(arguments: &Arguments) -> Result<ExitCode, String> {
    let text = text_of(&arguments.model, LARGEST_MODEL)?;
    let file = arguments.model.display();
    let model = Model::parse(&text).map_err(|error| format!("{file}: {error}"))?;
    let event = RareEvent::parse(&arguments.event, &model).map_err(|error| error.to_string())?;
    Ok(told(found(arguments, &model, event)))
}

fn found(arguments: &Arguments, model: &Model, event: RareEvent) -> Result<Value, CommandError> {
    let stop = stopped_by_signals().map_err(CommandError::Failed)?;
    let job = text_of(&arguments.job, LARGEST_JOB).map_err(CommandError::Failed)?;
    let folder = arguments.job.parent().unwrap_or_else(|| Path::new("/"));
    Job::parse(&job, folder).map_err(CommandError::Problems)?;
    let question = Question {
        job: &job,
        folder,
        model,
        event,
    };
    let effort = Effort {
        paths: arguments.paths as usize,
        seed: arguments.seed,
        cores: arguments.cores as usize,
    };
    let said = Mutex::new(Instant::now());
    let progress = |paths: u64| say(&said, paths);
    let found =
        estimate(&question, event.threshold, effort, &stop, &progress).map_err(CommandError::Failed)?;
    Ok(json!({"end": as_json(&found, event.threshold)}))
}

fn text_of(file: &Path, largest: u64) -> Result<String, String> {
    read_text(file, largest).map_err(|error| format!("{} can't be read: {error}", file.display()))
}

/// Says how many paths were followed, unless it did so just now.
fn say(said: &Mutex<Instant>, paths: u64) {
    let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
    if said.elapsed() >= EVERY {
        *said = Instant::now();
        println!("{}", json!({"paths": paths}));
    }
}

fn as_json(found: &Estimate, threshold: u64) -> Value {
    let level = |one: &LevelEstimate| json!({"level": one.level, "probability": one.probability, "low": one.low, "high": one.high});
    json!({
        "threshold": threshold,
        "levels": found.levels.iter().map(level).collect::<Vec<_>>(),
        "paths": found.paths,
        "repetitions": REPETITIONS,
    })
}
