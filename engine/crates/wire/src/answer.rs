//! Reading answers: a state machine that takes bytes and does no I/O.

use crate::Failure;
use crate::chunked::Chunked;
use crate::head::{Framing, Head};

/// How much of an answer is accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of all heads of one answer together, informational ones included.
    pub head: usize,
    /// Bytes of the body. They are skipped, not kept, so that this bounds time rather than memory.
    pub body: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            head: 64 * 1024,
            body: 1 << 30,
        }
    }
}

/// What is known of an answer before it comes, and what is wanted of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Expected {
    /// The request was HEAD: there is no body, even if the head announces one.
    pub to_head_request: bool,
    /// Keep the head for [`AnswerParser::head`].
    pub keep_head: bool,
    /// Keep this many bytes of the body for [`AnswerParser::body`].
    pub keep_body: usize,
}

/// A complete answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    /// Its status.
    pub status: u16,
    /// Bytes of its body, without head and framing.
    pub bytes: u64,
    /// Whether the connection can carry another request.
    pub keep_alive: bool,
}

#[derive(Debug, Clone)]
enum State {
    Head,
    Length(u64),
    Chunked(Chunked),
    UntilClose,
    Done,
}

/// Reads one answer after another from the bytes of a connection.
#[derive(Debug, Clone)]
pub struct AnswerParser {
    limits: Limits,
    expected: Expected,
    state: State,
    answer: Answer,
    /// The unfinished head; afterwards the head, when it is to be kept.
    head: Vec<u8>,
    /// Bytes of informational heads before this one.
    head_before: usize,
    body: Vec<u8>,
}

impl AnswerParser {
    /// A parser within limits, waiting for its first answer.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        let answer = Answer {
            status: 0,
            bytes: 0,
            keep_alive: false,
        };
        let expected = Expected::default();
        Self {
            limits,
            expected,
            state: State::Head,
            answer,
            head: Vec::new(),
            head_before: 0,
            body: Vec::new(),
        }
    }

    /// Prepares for the next answer and forgets the last.
    pub fn begin(&mut self, expected: Expected) {
        self.expected = expected;
        self.state = State::Head;
        self.answer = Answer {
            status: 0,
            bytes: 0,
            keep_alive: false,
        };
        self.head_before = 0;
        forget(&mut self.head);
        forget(&mut self.body);
    }

    /// The kept head of the answer, empty unless [`Expected::keep_head`] asked for it.
    #[must_use]
    pub fn head(&self) -> &[u8] {
        &self.head
    }

    /// The kept part of the body, at most [`Expected::keep_body`] bytes.
    #[must_use]
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// Takes bytes from the connection; returns the answer when it is complete.
    ///
    /// Bytes after the end of an answer are not the answer to anything: the answer then says that the connection can't be kept.
    ///
    /// # Errors
    /// [`Failure::Malformed`] or [`Failure::TooLarge`]; the connection is of no use afterwards.
    pub fn feed(&mut self, input: &[u8]) -> Result<Option<Answer>, Failure> {
        let mut rest = input;
        while !rest.is_empty() && !self.is_done() {
            let taken = if matches!(self.state, State::Head) {
                self.feed_head(rest)?
            } else {
                self.feed_body(rest)?
            };
            rest = &rest[taken..];
        }
        if !self.is_done() {
            return Ok(None);
        }
        self.answer.keep_alive &= rest.is_empty();
        Ok(Some(self.answer))
    }

    /// The connection was closed by the server: the end of an answer without a length, a failure for any other.
    ///
    /// # Errors
    /// [`Failure::Closed`] when the answer was not complete.
    pub fn closed(&mut self) -> Result<Answer, Failure> {
        match self.state {
            State::UntilClose | State::Done => Ok(self.answer),
            _ => Err(Failure::Closed),
        }
    }

    fn is_done(&self) -> bool {
        matches!(self.state, State::Done)
    }

    fn feed_head(&mut self, input: &[u8]) -> Result<usize, Failure> {
        if !self.head.is_empty() {
            return self.feed_unfinished_head(input);
        }
        if input[0] != b'H' {
            return Err(Failure::Malformed);
        }
        match Head::parse(input, self.expected.to_head_request)? {
            Some(head) => {
                self.accept(head, &input[..head.bytes])?;
                Ok(head.bytes)
            }
            None => {
                self.keep_unfinished(input)?;
                Ok(input.len())
            }
        }
    }

    /// Looks for the end of a head before parsing it, so that a head that drips in byte by byte isn't parsed at every byte.
    fn feed_unfinished_head(&mut self, input: &[u8]) -> Result<usize, Failure> {
        let before = self.head.len();
        let from = before.saturating_sub(2);
        self.keep_unfinished(input)?;
        if !has_blank_line(&self.head[from..]) {
            return Ok(input.len());
        }
        let Some(head) = Head::parse(&self.head, self.expected.to_head_request)? else {
            return Err(Failure::Malformed);
        };
        let mut kept = std::mem::take(&mut self.head);
        kept.truncate(head.bytes);
        self.accept(head, &kept)?;
        Ok(head.bytes - before)
    }

    /// What doesn't fit may belong to the body already; but then the end of the head is within what fits.
    fn keep_unfinished(&mut self, input: &[u8]) -> Result<(), Failure> {
        let room = self
            .limits
            .head
            .saturating_sub(self.head_before + self.head.len());
        self.head.extend_from_slice(&input[..room.min(input.len())]);
        let ended = input.len() <= room || has_blank_line(&self.head);
        if ended { Ok(()) } else { Err(Failure::TooLarge) }
    }

    fn accept(&mut self, head: Head, text: &[u8]) -> Result<(), Failure> {
        self.head.clear();
        if self.head_before + head.bytes > self.limits.head {
            return Err(Failure::TooLarge);
        }
        if (100..200).contains(&head.status) {
            return self.skip_informational(head);
        }
        if self.expected.keep_head {
            self.head.extend_from_slice(text);
        }
        self.answer = Answer {
            status: head.status,
            bytes: 0,
            keep_alive: head.keep_alive,
        };
        self.state = match head.framing {
            Framing::Length(0) => State::Done,
            Framing::Length(length) if length > self.limits.body => return Err(Failure::TooLarge),
            Framing::Length(length) => State::Length(length),
            Framing::Chunked => State::Chunked(Chunked::new()),
            Framing::UntilClose => State::UntilClose,
        };
        Ok(())
    }

    /// No request asks to switch protocols, so 101 isn't an answer. Other informational heads precede the real one.
    fn skip_informational(&mut self, head: Head) -> Result<(), Failure> {
        if head.status == 101 {
            return Err(Failure::Malformed);
        }
        self.head_before += head.bytes;
        Ok(())
    }

    fn feed_body(&mut self, input: &[u8]) -> Result<usize, Failure> {
        let Self {
            state,
            answer,
            body,
            expected,
            limits,
            ..
        } = self;
        let mut take = |data: &[u8]| {
            answer.bytes += data.len() as u64;
            let room = expected.keep_body - body.len();
            body.extend_from_slice(&data[..data.len().min(room)]);
        };
        let (taken, done) = match state {
            State::Length(remaining) => {
                let wanted = usize::try_from(*remaining).unwrap_or(usize::MAX).min(input.len());
                take(&input[..wanted]);
                *remaining -= wanted as u64;
                (wanted, *remaining == 0)
            }
            State::Chunked(chunked) => (chunked.feed(input, &mut take)?, chunked.is_done()),
            _ => {
                take(input);
                (input.len(), false)
            }
        };
        if answer.bytes > limits.body {
            return Err(Failure::TooLarge);
        }
        if done {
            *state = State::Done;
        }
        Ok(taken)
    }
}

/// Empties a buffer, and gives its memory back when an answer has made it large: there may be thousands of connections.
fn forget(buffer: &mut Vec<u8>) {
    const SMALL: usize = 64 * 1024;
    buffer.clear();
    buffer.shrink_to(SMALL);
}

fn has_blank_line(text: &[u8]) -> bool {
    memchr::memchr_iter(b'\n', text).any(|at| {
        let rest = &text[at + 1..];
        rest.starts_with(b"\n") || rest.starts_with(b"\r\n")
    })
}

#[cfg(test)]
mod tests;
