//! The verb `simulate`.

use crate::load::{stopped_by_signals, told};
use patternbench_load::command_in;
use patternbench_simulation::{Model, Simulated};
use patternbench_wire::read_text;
use serde_json::json;
use std::path::PathBuf;
use std::process::ExitCode;

/// The largest model that is read, in bytes.
const LARGEST_MODEL: u64 = 16 << 20;

/// Drive the load that a job describes in simulated time, against services that a model describes.
///
/// Users, policies, schedules and records are those of `load`; nothing is sent anywhere, and hours pass in seconds. The
/// model is JSON as in contracts/load/README.md. Output and exit codes are those of `load`, and 2 for a wrong model.
#[derive(clap::Args)]
#[command(after_help = EXAMPLE)]
pub struct Arguments {
    /// The job; its targets are only names.
    #[arg(long, value_name = "FILE")]
    job: PathBuf,
    /// The service.
    #[arg(long, value_name = "FILE")]
    model: PathBuf,
    /// The folder for what comes of it; it is made when it isn't there.
    #[arg(long, value_name = "FOLDER")]
    out: PathBuf,
}

const EXAMPLE: &str = "Example:
  patternbench-engine simulate --job job.json --model model.json --out results";

/// Runs the job to its end.
pub fn run(arguments: &Arguments) -> Result<ExitCode, String> {
    let file = arguments.model.display();
    let text = read_text(&arguments.model, LARGEST_MODEL)
        .map_err(|error| format!("{file} can't be read: {error}"))?;
    let model = Model::parse(&text).map_err(|error| format!("{file}: {error}"))?;
    let stop = stopped_by_signals()?;
    let runtime = Simulated::new(&model);
    let events = runtime.events();
    let summary = command_in(runtime, &arguments.job, &arguments.out, std::io::stdout(), &stop);
    Ok(told(summary.map(|mut summary| {
        summary["events"] = json!(events.get());
        json!({"end": summary})
    })))
}
