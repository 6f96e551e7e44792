//! The verb `guard`.

use patternbench_timing::{Nanos, parse_duration};
use std::ffi::OsString;
use std::process::ExitCode;
use std::time::Duration;

/// Run a command and leave nothing of it behind.
///
/// When standard input closes (the parent is gone), on SIGTERM, SIGINT or SIGHUP, or when the command ends, everything
/// that it started is ended: SIGTERM, then SIGKILL. Exits with the command's code, 128 + signal when a signal ended it.
#[derive(clap::Args)]
#[command(after_help = EXAMPLE)]
pub struct Arguments {
    /// How long processes have to end by themselves after SIGTERM.
    #[arg(long, value_name = "DURATION", default_value = "2s", value_parser = parse_duration)]
    grace: Nanos,
    /// The command and its arguments, after --.
    #[arg(required = true, last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

const EXAMPLE: &str = "Example:
  patternbench-engine guard --grace 5s -- redis-server --port 7000";

/// Runs the command to its end, or ends it.
pub fn run(arguments: &Arguments) -> Result<ExitCode, String> {
    let code = patternbench_guard::run(&arguments.command, Duration::from_nanos(arguments.grace))?;
    Ok(ExitCode::from(code as u8))
}
