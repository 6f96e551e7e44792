//! A TCP proxy on the link between two components: it simulates network latency, and injects faults on orders.
//!
//! One thread waits for all sockets and one timer, so a fault begins at one moment for all connections. A *request* is
//! what a caller sends after the service has answered, up to the next answer: so it is with HTTP/1.1 without pipelining,
//! Redis and MySQL alike. Faults fall on requests by chance, or on the link as a whole. The one who tells it what to do
//! connects to its admin port; when that connection ends, so do all faults.

#![forbid(unsafe_code)]

mod active;
mod admin;
mod bucket;
mod connection;
mod dice;
mod door;
mod faults;
mod line;
mod onward;
mod request;
mod server;
mod settings;
mod timer;

pub use settings::Settings;

use patternbench_timing::sharpen;
use serde_json::json;
use server::Server;

/// Listens, prints where in a line of JSON, and serves until the process ends.
///
/// # Errors
/// One sentence, when it cannot listen, or the operating system refuses to wait for sockets.
pub fn serve(settings: &Settings) -> Result<(), String> {
    sharpen();
    let mut server = Server::new(settings)?;
    let (listening, admin) = (server.address().to_string(), server.admin_address().to_string());
    println!(
        "{}",
        json!({"listening": listening, "ready": {"listening": listening, "admin": admin}})
    );
    server
        .run()
        .map_err(|error| format!("the operating system refuses to wait for sockets: {error}"))
}
