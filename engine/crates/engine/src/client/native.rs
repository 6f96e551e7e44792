//! The load engine behind the client contract.

use patternbench_contract_server::{Client, Place, Stream};
use patternbench_load::Problem;
use patternbench_load::contract::{self, Audience, Round};
use rustix::process::{Resource, getrlimit};
use serde_json::{Value, json};

/// The native client, for the contract's server.
pub struct Native;

impl Client for Native {
    type Round = Round;

    fn description(&self) -> Value {
        json!({
            "contract": 1,
            "name": "native",
            "version": env!("CARGO_PKG_VERSION"),
            "language": concat!("Rust ", env!("CARGO_PKG_RUST_VERSION"), " or later"),
            "library": {"name": "patternbench-policies", "version": env!("CARGO_PKG_VERSION")},
            "strategies": ["baseline", "retry", "circuit_breaker"],
        })
    }

    fn read(&self, body: &[u8]) -> Result<Round, Vec<Value>> {
        contract::read(body, most_users()).map_err(|problems| problems.iter().map(as_json).collect())
    }

    /// Runs the round in its own thread; the place is free again when that ends, however it does.
    fn start(&self, round: Round, stream: Stream, place: Place) -> Result<(), String> {
        let thread = std::thread::Builder::new().name("round".into()).spawn(move || {
            let last = contract::run(round, &Reader(stream.clone()));
            stream.end(last, place);
        });
        thread
            .map(drop)
            .map_err(|error| format!("cannot start a round: {error}"))
    }
}

/// As many users as there may be connections, with some file descriptors left for the client itself.
fn most_users() -> u64 {
    const OWN_FILES: u64 = 64;
    const MOST: u64 = 1_000_000;
    let files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    files.saturating_sub(OWN_FILES).clamp(1, MOST)
}

/// A problem as the contract has it: its value as JSON, not as a text of it.
fn as_json(problem: &Problem) -> Value {
    let Problem {
        path,
        value,
        message,
        allowed,
    } = problem;
    let value: Value = serde_json::from_str(value).unwrap_or_else(|_| json!(value));
    json!({"path": path, "value": value, "message": message, "allowed": allowed})
}

/// The reader of a round's lines.
#[derive(Clone)]
struct Reader(Stream);

impl Audience for Reader {
    fn send(&self, line: String, rows: usize) {
        self.0.send(line, rows);
    }

    fn waiting(&self) -> usize {
        self.0.waiting()
    }

    fn has_left(&self) -> bool {
        self.0.has_left()
    }
}
