//! Threads, two for each direction of a connection.

use std::io;
use std::thread;

/// Starts a thread with a stack as small as its work.
pub fn start(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    const STACK: usize = 256 * 1024;
    thread::Builder::new()
        .name(name.to_owned())
        .stack_size(STACK)
        .spawn(work)
        .map(drop)
}
