//! Starts a client, and says where it listens.

use crate::{Adapter, server};
use serde_json::json;
use std::io::{self, Write};
use std::net::Ipv4Addr;
use std::process::ExitCode;
use std::rc::Rc;
use tokio::net::TcpListener;
use tokio::task::LocalSet;

/// Serves the contract on `--port` (0, the default, takes a free one) until the process is ended.
///
/// What the `main` of a client calls. It returns only when it cannot begin, and says why on standard error.
pub fn serve(adapter: impl Adapter) -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Err(why) = port(&arguments).and_then(|port| run(Rc::new(adapter), port)) else {
        return ExitCode::SUCCESS;
    };
    eprintln!("error: {why}");
    ExitCode::from(2)
}

fn port(arguments: &[String]) -> Result<u16, String> {
    let unread = || {
        format!(
            "cannot read {:?}; allowed: --port PORT, from 0 to 65535",
            arguments.join(" ")
        )
    };
    match arguments {
        [] => Ok(0),
        [flag, text] if flag == "--port" => text.parse().map_err(|_| unread()),
        _ => Err(unread()),
    }
}

fn run(adapter: Rc<dyn Adapter>, port: u16) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| format!("cannot start the client: {error}"))?;
    LocalSet::new().block_on(&runtime, async {
        let taken = |error| format!("cannot listen on port {port}: {error}; --port 0 takes a free one");
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))
            .await
            .map_err(taken)?;
        let address = listener.local_addr().map_err(taken)?;
        let line = json!({"listening": address.to_string()});
        writeln!(io::stdout(), "{line}").map_err(|error| format!("cannot say where it listens: {error}"))?;
        server::accept(listener, adapter).await;
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_a_number_that_there_is() {
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(port(&[]), Ok(0));
        assert_eq!(port(&words("--port 8090")), Ok(8090));
        for wrong in ["--port", "--port 70000", "--port x", "--prot 0"] {
            assert!(
                port(&words(wrong)).unwrap_err().contains("allowed: --port PORT"),
                "{wrong}"
            );
        }
    }
}
