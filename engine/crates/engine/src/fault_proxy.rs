//! The verb `fault-proxy`.

use patternbench_fault_proxy::Settings;
use patternbench_timing::{Nanos, parse_duration};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

/// Pass TCP connections on, with network latency and with faults.
///
/// Prints {"listening": "HOST:PORT", "ready": {"listening", "admin"}} when ready. Orders are lines of JSON to the admin
/// port: {"begin": {"name": "d", "fault": {"delay": {"percentage": 20, "duration_us": 250}}}}, {"end": {"name": "d"}}. Each
/// is answered by {"at_ns": NANOSECONDS} on the monotonic clock, or {"error": WHY}. When that connection ends, so do all
/// faults.
#[derive(clap::Args)]
#[command(after_help = EXAMPLE)]
pub struct Arguments {
    /// Address and port to listen on; port 0 takes a free one.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// Address and port that orders come to; port 0 takes a free one.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:0")]
    admin: SocketAddr,
    /// Address and port to pass connections on to. Without it, each goes to where it was meant for before a rule of the
    /// kernel (REDIRECT of iptables) brought it here.
    #[arg(long, value_name = "ADDRESS:PORT", required_unless_present = "network")]
    to: Option<SocketAddr>,
    /// How long every byte is held in each direction, as in 25ms: a round trip takes twice that longer.
    #[arg(long, value_name = "DURATION", default_value = "0ms", value_parser = parse_duration)]
    latency: Nanos,
    /// Seed of what is drawn.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The network in which it listens and connects, such as a container's: /proc/PID/ns/net. Orders come from outside it.
    #[arg(long, value_name = "FILE")]
    network: Option<PathBuf>,
    /// The mark of its own connections, by which rules of the kernel can leave them alone; 0 for none.
    #[arg(long, default_value_t = 0)]
    mark: u32,
}

const EXAMPLE: &str = "Example:
  patternbench-engine fault-proxy --listen 127.0.0.1:7000 --to 127.0.0.1:6379 --latency 25ms";

/// Serves until a signal to stop.
pub fn run(arguments: &Arguments) -> Result<ExitCode, String> {
    patternbench_fault_proxy::serve(&Settings {
        listen: arguments.listen,
        admin: arguments.admin,
        to: arguments.to,
        latency: arguments.latency,
        seed: arguments.seed,
        network: arguments.network.clone(),
        mark: arguments.mark,
    })?;
    Ok(ExitCode::SUCCESS)
}
