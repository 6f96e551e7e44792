//! Starts a client, and says where it listens.

use crate::Adapter;
use crate::library::Library;
use std::net::{IpAddr, Ipv4Addr};
use std::process::ExitCode;
use std::rc::Rc;

const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// Serves the contract on `--port` (0, the default, takes a free one) until the process is ended.
///
/// What the `main` of a client calls. It returns only when it cannot begin, and says why on standard error.
pub fn serve(adapter: impl Adapter) -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let served = |port| patternbench_contract_server::serve(Library(Rc::new(adapter)), LOOPBACK, port);
    let Err(why) = port(&arguments).and_then(served) else {
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
