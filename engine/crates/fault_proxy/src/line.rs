//! One direction of a connection: what has been read, and is written when it is due.

use crate::bucket::Bucket;
use patternbench_timing::Nanos;
use std::collections::VecDeque;
use std::io::{ErrorKind, Write};

/// What happens once a piece has been written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum After {
    /// Nothing but what follows it.
    Nothing,
    /// Nothing more will come.
    Shut,
    /// The connection is reset.
    Reset,
}

/// A fault that held a piece back, and the moment until which it meant to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Held {
    pub by: u32,
    pub until: Nanos,
}

struct Piece {
    due: Nanos,
    bytes: Vec<u8>,
    written: usize,
    after: After,
    held: Option<Held>,
}

/// How writing went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivered {
    /// All that there is.
    All,
    /// The next piece is due at this moment.
    Until(Nanos),
    /// The receiver has no room.
    Blocked,
    /// The receiver is to hear no more after what it has got.
    Shut,
    /// The connection is to be reset.
    Reset,
    /// The receiver is gone.
    Gone,
}

/// The pieces under way, in their order.
#[derive(Default)]
pub struct Line {
    pieces: VecDeque<Piece>,
    bytes: usize,
}

impl Line {
    /// Adds a piece, due no earlier than those before it.
    pub fn push(&mut self, due: Nanos, bytes: &[u8], after: After, held: Option<Held>) {
        let due = self.pieces.back().map_or(due, |last| last.due.max(due));
        self.bytes += bytes.len();
        let bytes = bytes.to_vec();
        self.pieces.push_back(Piece {
            due,
            bytes,
            written: 0,
            after,
            held,
        });
    }

    /// How many bytes are under way.
    pub fn len(&self) -> usize {
        self.bytes
    }

    /// Writes what is due, as far as the bandwidth and the receiver allow; `told` hears of pieces that were held back.
    pub fn deliver(
        &mut self,
        to: &mut impl Write,
        now: Nanos,
        bucket: &mut Bucket,
        mut told: impl FnMut(Held),
    ) -> Delivered {
        while let Some(piece) = self.pieces.front_mut() {
            if piece.due > now {
                return Delivered::Until(piece.due);
            }
            if let Some(held) = piece.held.take() {
                told(held);
            }
            if piece.written < piece.bytes.len() {
                match write(to, piece, bucket, now) {
                    Ok(written) => self.bytes -= written,
                    Err(stop) => return stop,
                }
                continue;
            }
            let after = piece.after;
            self.pieces.pop_front();
            match after {
                After::Nothing => {}
                After::Shut => return Delivered::Shut,
                After::Reset => return Delivered::Reset,
            }
        }
        Delivered::All
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.pieces.clear();
        self.bytes = 0;
    }
}

fn write(
    to: &mut impl Write,
    piece: &mut Piece,
    bucket: &mut Bucket,
    now: Nanos,
) -> Result<usize, Delivered> {
    let most = bucket.allowed(now).map_err(Delivered::Until)?;
    let rest = &piece.bytes[piece.written..];
    match to.write(&rest[..rest.len().min(most)]) {
        Ok(written) => {
            bucket.passed(written, now);
            piece.written += written;
            Ok(written)
        }
        Err(error) if error.kind() == ErrorKind::Interrupted => Ok(0),
        // A socket that is not connected yet says NotConnected.
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::NotConnected) => {
            Err(Delivered::Blocked)
        }
        Err(_) => Err(Delivered::Gone),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_piece_never_overtakes_an_earlier_one() {
        let (mut line, mut out, mut bucket) = (Line::default(), Vec::new(), Bucket::default());
        line.push(100, b"a", After::Nothing, None);
        line.push(50, b"b", After::Shut, None);
        assert_eq!(
            line.deliver(&mut out, 60, &mut bucket, |_| {}),
            Delivered::Until(100)
        );
        assert_eq!((out.len(), line.len()), (0, 2));
        assert_eq!(line.deliver(&mut out, 100, &mut bucket, |_| {}), Delivered::Shut);
        assert_eq!((out.as_slice(), line.len()), (&b"ab"[..], 0));
    }

    #[test]
    fn who_held_a_piece_is_told_once() {
        let (mut line, mut out, mut bucket) = (Line::default(), Vec::new(), Bucket::default());
        bucket.limit(Some(1.0));
        line.push(5, b"abc", After::Nothing, Some(Held { by: 7, until: 5 }));
        let mut told = Vec::new();
        for now in [5, 2_000_000_000, 4_000_000_000] {
            line.deliver(&mut out, now, &mut bucket, |held| told.push(held));
        }
        assert_eq!((told.len(), out.as_slice()), (1, &b"abc"[..]));
    }
}
