//! The verb `client`.

mod native;

use patternbench_contract_server::serve;
use std::net::IpAddr;
use std::process::ExitCode;

/// Put the load of a round on a target, as contracts/client says; the native client of patternbench.
///
/// Serves GET /client, POST /check and POST /rounds. Prints {"listening": "HOST:PORT"} when ready.
#[derive(clap::Args)]
#[command(after_help = EXAMPLE)]
pub struct Arguments {
    /// Address to listen on.
    #[arg(long, default_value = "127.0.0.1")]
    host: IpAddr,
    /// Port to listen on; 0 takes a free one.
    #[arg(long, default_value_t = 0)]
    port: u16,
}

const EXAMPLE: &str = "Example:
  patternbench-engine client --port 8090
  curl http://127.0.0.1:8090/client";

/// Serves until it is ended.
pub fn run(arguments: &Arguments) -> Result<ExitCode, String> {
    serve(native::Native, arguments.host, arguments.port)?;
    Ok(ExitCode::SUCCESS)
}
