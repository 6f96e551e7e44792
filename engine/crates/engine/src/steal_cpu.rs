//! The verb `steal-cpu`.

use patternbench_steal::{Settings, steal};
use patternbench_timing::{Nanos, US, parse_duration};
use rustix::process::Pid;
use serde_json::json;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Steal CPU time from a process and its descendants, until a signal to stop.
///
/// In each period the processes are stopped for a share of it. Prints {"began_ns": NANOSECONDS} on the monotonic clock,
/// and on SIGTERM, once all of them continue, {"ended_ns", "stolen_us", "lasted_us"}.
#[derive(clap::Args)]
#[command(after_help = EXAMPLE)]
pub struct Arguments {
    /// The process whose descendants are stopped; it is not itself.
    #[arg(long, value_name = "PID", value_parser = clap::value_parser!(i32).range(2..))]
    of: i32,
    /// The share of each period that is stolen, from 0 to 99.
    #[arg(long, value_parser = percentage)]
    percentage: f64,
    /// How long a period is, as in 20ms.
    #[arg(long, value_name = "DURATION", default_value = "20ms", value_parser = parse_duration)]
    period: Nanos,
}

const EXAMPLE: &str = "Example:
  patternbench-engine steal-cpu --of 4711 --percentage 50 --period 20ms";

/// Steals until a signal to stop.
pub fn run(arguments: &Arguments) -> Result<ExitCode, String> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGTERM, SIGINT, SIGHUP] {
        signal_hook::flag::register(signal, stop.clone())
            .map_err(|error| format!("cannot listen for signals: {error}"))?;
    }
    let of = Pid::from_raw(arguments.of).ok_or("there is no such process")?;
    let share = arguments.percentage / 100.0;
    let settings = Settings {
        of,
        share,
        period: arguments.period.max(US),
    };
    let loot = steal(&settings, &stop, |began| {
        println!("{}", json!({"began_ns": began}))
    });
    let (stolen, lasted) = (loot.stolen / US, (loot.ended - loot.began) / US);
    println!(
        "{}",
        json!({"ended_ns": loot.ended, "stolen_us": stolen, "lasted_us": lasted})
    );
    Ok(ExitCode::SUCCESS)
}

fn percentage(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(share) if (0.0..=99.0).contains(&share) => Ok(share),
        _ => Err(format!("'{text}' is not a percentage from 0 to 99")),
    }
}
