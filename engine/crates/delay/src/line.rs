//! One direction of a connection: what is read now is written after the delay.

use crate::threads::start;
use patternbench_timing::{Nanos, now, sleep_until};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// Most pieces under way; a sender that is faster than its receiver then waits, as on any network.
const UNDER_WAY: usize = 1024;
const PIECE: usize = 32 * 1024;

/// Bytes, and when they are due; no bytes say that nothing more will come.
struct Piece {
    due: Nanos,
    bytes: Vec<u8>,
}

/// From where, to where, how far.
pub struct Line {
    from: TcpStream,
    to: TcpStream,
    delay: Nanos,
}

impl Line {
    pub fn new(from: TcpStream, to: TcpStream, delay: Nanos) -> Self {
        Self { from, to, delay }
    }

    /// Carries bytes until one side is done; the end is passed on like the bytes, after the delay.
    pub fn run(self) {
        let Self { from, to, delay } = self;
        let (sender, receiver) = sync_channel(UNDER_WAY);
        if start("deliver", move || deliver(to, &receiver)).is_ok() {
            take(from, delay, &sender);
        }
    }
}

/// Reads until the end or a failure, which look the same from the other side.
fn take(mut from: TcpStream, delay: Nanos, sender: &SyncSender<Piece>) {
    let mut buffer = vec![0; PIECE];
    loop {
        let count = from.read(&mut buffer).unwrap_or(0);
        let bytes = buffer[..count].to_vec();
        let due = now() + delay;
        if sender.send(Piece { due, bytes }).is_err() || count == 0 {
            return;
        }
    }
}

/// Writes each piece when it is due; when the receiver is gone, the sender's connection is closed too.
fn deliver(mut to: TcpStream, receiver: &Receiver<Piece>) {
    for piece in receiver {
        sleep_until(piece.due);
        if piece.bytes.is_empty() {
            let _ = to.shutdown(Shutdown::Write);
        } else if to.write_all(&piece.bytes).is_err() {
            let _ = to.shutdown(Shutdown::Both);
            return;
        }
    }
}
