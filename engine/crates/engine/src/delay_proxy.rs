//! The verb `delay-proxy`.

use patternbench_delay::Settings;
use patternbench_timing::{Nanos, parse_duration};
use std::net::SocketAddr;
use std::process::ExitCode;

/// Pass TCP connections on, holding every byte for a while in each direction, to stand for distance.
///
/// Prints {"listening": "HOST:PORT"} when ready. A round trip takes twice the delay longer.
#[derive(clap::Args)]
#[command(after_help = EXAMPLE)]
pub struct Arguments {
    /// Address and port to listen on; port 0 takes a free one.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// Address and port to pass connections on to.
    #[arg(long, value_name = "ADDRESS:PORT")]
    to: SocketAddr,
    /// How long bytes are held in each direction, as in 25ms.
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    delay: Nanos,
}

const EXAMPLE: &str = "Example:
  patternbench-engine delay-proxy --listen 127.0.0.1:7000 --to 127.0.0.1:6379 --delay 25ms";

/// Serves until it is told to stop.
pub fn run(arguments: &Arguments) -> Result<ExitCode, String> {
    patternbench_delay::serve(&Settings {
        listen: arguments.listen,
        to: arguments.to,
        delay: arguments.delay,
    })?;
    Ok(ExitCode::SUCCESS)
}
