//! A TCP proxy that stands for distance: it holds every byte for a set time in each direction.
//!
//! Bytes keep their order and are never merged with later ones into one delay. A connection has two directions of two
//! threads each, because a thread that sleeps is precise to some 10 µs where a timer of an event loop is to 1 ms; it is
//! therefore meant for hundreds of connections, not for tens of thousands. Opening a connection costs its caller no
//! delay, unlike on a real network: whoever measures should keep connections open, as poolers do.

#![forbid(unsafe_code)]

mod line;
mod threads;

use line::Line;
use patternbench_timing::{Nanos, sharpen};
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use threads::start;

/// How a delaying proxy works.
pub struct Settings {
    /// Where it listens; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Where it passes connections on to.
    pub to: SocketAddr,
    /// How long it holds bytes, in each direction.
    pub delay: Nanos,
}

/// Listens, prints `{"listening": "HOST:PORT"}`, and serves until the process ends.
pub fn serve(settings: &Settings) -> Result<(), String> {
    let refused = |error| format!("cannot listen on {}: {error}", settings.listen);
    let listener = TcpListener::bind(settings.listen).map_err(refused)?;
    let address = listener.local_addr().map_err(refused)?;
    sharpen();
    println!("{{\"listening\": \"{address}\"}}");
    for caller in listener.incoming().flatten() {
        pass_on(caller, settings);
    }
    Ok(())
}

/// Joins a caller to the other side; a caller that cannot be joined is hung up on, as its own connect would have been.
fn pass_on(caller: TcpStream, settings: &Settings) {
    let (to, delay) = (settings.to, settings.delay);
    let joined = move || -> io::Result<()> {
        let other = TcpStream::connect(to)?;
        caller.set_nodelay(true)?;
        other.set_nodelay(true)?;
        let back = Line::new(other.try_clone()?, caller.try_clone()?, delay);
        let there = Line::new(caller, other, delay);
        start("back", move || back.run())?;
        there.run();
        Ok(())
    };
    let told = start("there", move || {
        if let Err(error) = joined() {
            eprintln!("a connection to {to} was not made: {error}");
        }
    });
    if let Err(error) = told {
        eprintln!("a connection was dropped: {error}");
    }
}
