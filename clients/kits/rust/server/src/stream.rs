//! The lines of a round on their way to the reader.

use crate::Place;
use bytes::Bytes;
use hyper::body::{Body, Frame};
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// The end of the stream that a round writes to. It never waits: a round that waits for its reader would lie about
/// times.
#[derive(Debug, Clone)]
pub struct Stream {
    sender: UnboundedSender<(Bytes, usize)>,
    waiting: Arc<AtomicUsize>,
}

impl Stream {
    pub(crate) fn new() -> (Self, Lines) {
        let (sender, receiver) = unbounded_channel();
        let waiting = Arc::new(AtomicUsize::new(0));
        let lines = Lines {
            receiver,
            waiting: Arc::clone(&waiting),
        };
        (Self { sender, waiting }, lines)
    }

    /// Sends a line with its number of rows.
    pub fn send(&self, line: impl Into<Bytes>, rows: usize) {
        self.waiting.fetch_add(rows, Ordering::Relaxed);
        // A reader that has left is noticed when the round looks for it.
        let _ = self.sender.send((line.into(), rows));
    }

    /// Sends the last line of a round, whose place is free before that: its reader may start the next round at once.
    pub fn end(self, line: impl Into<Bytes>, place: Place) {
        drop(place);
        self.send(line, 0);
    }

    /// How many rows wait to be read.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Whether no one reads any more.
    #[must_use]
    pub fn has_left(&self) -> bool {
        self.sender.is_closed()
    }

    /// Waits until no one reads any more.
    pub async fn left(&self) {
        self.sender.closed().await;
    }
}

/// The end of the stream that is sent out. It is dropped when the connection closes, which the round notices.
pub(crate) struct Lines {
    receiver: UnboundedReceiver<(Bytes, usize)>,
    waiting: Arc<AtomicUsize>,
}

impl Body for Lines {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let next = self.receiver.poll_recv(cx);
        next.map(|line| {
            line.map(|(line, rows)| {
                self.waiting.fetch_sub(rows, Ordering::Relaxed);
                Ok(Frame::data(line))
            })
        })
    }
}
