//! The verb `target`.

use patternbench_target::settings::{Pathology, Pause, QueueLimit, ServiceTime, Settings, Share};
use patternbench_timing::{Nanos, parse_duration};
use std::net::IpAddr;
use std::path::PathBuf;
use std::process::ExitCode;

/// Serve HTTP with known workers, service times and queue, to measure against.
///
/// Endpoints: /bytes/{n}, /status/{code}, /delay/{duration}, /anything, and, without queue or service time, /health and
/// /stats, and POST /drop, which gives up all that was asked. Prints {"listening": "HOST:PORT"} when ready.
#[derive(clap::Args)]
#[command(after_help = EXAMPLE)]
pub struct Arguments {
    /// Address to listen on.
    #[arg(long, default_value = "127.0.0.1")]
    host: IpAddr,
    /// Port to listen on; 0 takes a free one.
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// How many requests are served at the same time.
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=1024))]
    workers: u16,
    /// How long each takes: fixed:5ms, exponential:5ms or lognormal:5ms,0.5 (mean, sigma).
    #[arg(long, default_value = "fixed:5ms")]
    service_time: ServiceTime,
    /// How many may wait: a number or unbounded. More are answered 503 at once.
    #[arg(long, default_value = "unbounded")]
    queue: QueueLimit,
    /// Seed of everything drawn.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Write a CSV line for each request: id, method, path, received, started, finished, status, written.
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// Share of requests that are slow, as in 1%.
    #[arg(long, value_name = "SHARE", default_value = "0%")]
    slow_share: Share,
    /// How many times as long those take.
    #[arg(long, value_name = "FACTOR", default_value = "50", value_parser = factor)]
    slow_factor: f64,
    /// All workers pause for this long, as in 100ms...
    #[arg(long, value_name = "DURATION", requires = "pause_every", value_parser = parse_duration)]
    pause: Option<Nanos>,
    /// ...once in this time, as in 1s.
    #[arg(long, value_name = "DURATION", requires = "pause", value_parser = parse_duration)]
    pause_every: Option<Nanos>,
    /// Share of requests that end with a reset connection, as in 0.5%.
    #[arg(long, value_name = "SHARE", default_value = "0%")]
    reset_share: Share,
}

const EXAMPLE: &str = "Example:
  patternbench-engine target --port 8080 --workers 4 --service-time lognormal:5ms,0.5 --queue 100 --log requests.csv";

/// Serves until a signal to stop.
pub fn run(arguments: Arguments) -> Result<ExitCode, String> {
    patternbench_target::serve(&settings(arguments)?)?;
    Ok(ExitCode::SUCCESS)
}

fn settings(arguments: Arguments) -> Result<Settings, String> {
    let pause = arguments.pause.zip(arguments.pause_every);
    Ok(Settings {
        host: arguments.host,
        port: arguments.port,
        workers: arguments.workers.into(),
        service_time: arguments.service_time,
        queue: arguments.queue,
        seed: arguments.seed,
        log: arguments.log,
        pathology: Pathology {
            slow_share: arguments.slow_share,
            slow_factor: arguments.slow_factor,
            reset_share: arguments.reset_share,
            pause: pause
                .map(|(length, every)| Pause::try_new(length, every))
                .transpose()?,
        },
    })
}

fn factor(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(factor) if (1.0..=1e6).contains(&factor) => Ok(factor),
        _ => Err(format!(
            "'{text}' is not a factor: a number from 1 to 1000000, as in 50"
        )),
    }
}
