//! The verb `unite`.

use patternbench_load::unite;
use std::path::PathBuf;
use std::process::ExitCode;

/// Put together what several generators of one load came to.
///
/// Each PART is the folder that `load` made for a job with a `part`. The folder receives summary.json and
/// histograms.json, as if one generator had made the whole load. Attempts aren't read.
#[derive(clap::Args)]
#[command(after_help = EXAMPLE)]
pub struct Arguments {
    /// The folders of the generators.
    #[arg(required = true, value_name = "PART")]
    parts: Vec<PathBuf>,
    /// The folder for what comes of them together.
    #[arg(long, value_name = "FOLDER")]
    out: PathBuf,
}

const EXAMPLE: &str = "Example:
  patternbench-engine unite generator-1 generator-2 --out all";

/// Puts them together, and prints the summary as `load` does.
pub fn run(arguments: &Arguments) -> Result<ExitCode, String> {
    match unite(&arguments.parts, &arguments.out) {
        Ok(summary) => {
            println!("{}", serde_json::json!({"end": summary}));
            Ok(ExitCode::SUCCESS)
        }
        Err(error) => {
            println!("{}", error.to_json());
            Ok(ExitCode::from(error.exit_code()))
        }
    }
}
