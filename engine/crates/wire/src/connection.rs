//! One connection, which carries one request at a time.

use crate::Failure;
use crate::answer::{Answer, AnswerParser, Expected, Limits};
use crate::poller::Readiness;
use crate::stream::{Moved, Stream};
use crate::target::Target;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

/// How far an exchange has got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// Nothing of the answer has come.
    Waiting,
    /// The answer has begun.
    Begun,
    /// The answer has begun, and there may be more of it to read at once. No event will say so: continue with the same
    /// readiness once others have had their turn.
    More,
    /// The answer is complete.
    Done(Answer),
    /// No exchange was going on, and the server has closed the connection (or sent what no one asked for).
    Gone,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Connecting,
    Handshaking,
    Idle,
    Exchanging,
}

/// How often one connection is read before others have their turn: a server that sends without end must not keep
/// everybody else, and the clock, waiting.
const READS: usize = 16;

/// A connection to a target.
pub struct Connection {
    stream: Stream,
    phase: Phase,
    parser: AnswerParser,
    /// A request that waits for the connection or for room, and how much of it is written.
    request: Option<(Vec<u8>, usize)>,
    begun: bool,
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

impl Connection {
    /// Begins to connect.
    ///
    /// # Errors
    /// When the operating system refuses at once.
    pub fn open(target: &Target, limits: Limits) -> Result<Self, Failure> {
        let stream = Stream::connect(target)?;
        let parser = AnswerParser::new(limits);
        Ok(Self {
            stream,
            phase: Phase::Connecting,
            parser,
            request: None,
            begun: false,
        })
    }

    /// Sends a request, now or as soon as the connection is there.
    ///
    /// # Errors
    /// When the server has gone. A failure at connecting is reported later, by [`Connection::ready`].
    pub fn send(&mut self, request: &[u8], expected: Expected) -> Result<(), Failure> {
        self.parser.begin(expected);
        self.begun = false;
        if self.phase != Phase::Idle {
            self.request = Some((request.to_vec(), 0));
            return Ok(());
        }
        self.phase = Phase::Exchanging;
        let written = match self.stream.write(request)? {
            Moved::Bytes(written) => written,
            _ => 0,
        };
        if written < request.len() {
            self.request = Some((request[written..].to_vec(), 0));
        }
        Ok(())
    }

    /// Whether the connection waits for a request.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.phase == Phase::Idle
    }

    /// Asks the kernel to say when answers come, for [`Connection::came`]. Nothing comes of it with TLS.
    pub fn stamp(&mut self) {
        self.stream.stamp();
    }

    /// When the kernel had taken in the bytes that were read last, since 1970, where it was asked and tells.
    #[must_use]
    pub fn came(&self) -> Option<Duration> {
        self.stream.came()
    }

    /// Whether a request, or the rest of it, waits to be sent.
    #[must_use]
    pub fn is_sending(&self) -> bool {
        self.request.is_some()
    }

    /// Why TLS failed, in its own words, when it did.
    #[must_use]
    pub fn reason(&self) -> Option<&str> {
        self.stream.reason()
    }

    /// The parser, for what it kept of the last answer.
    #[must_use]
    pub fn parser(&self) -> &AnswerParser {
        &self.parser
    }

    /// Goes on as far as the socket allows; `buffer` is scratch space.
    ///
    /// # Errors
    /// When the exchange has failed; the connection is of no use afterwards.
    pub fn ready(&mut self, readiness: Readiness, buffer: &mut [u8]) -> Result<Progress, Failure> {
        let fresh = matches!(self.phase, Phase::Connecting | Phase::Handshaking);
        if self.phase == Phase::Connecting && !self.finish_connecting(readiness)? {
            return Ok(Progress::Waiting);
        }
        if self.phase == Phase::Handshaking && !self.finish_handshake()? {
            return Ok(Progress::Waiting);
        }
        if fresh {
            self.expect_silence(buffer)?;
        }
        if fresh || readiness.writable {
            self.write_rest()?;
        }
        if readiness.readable {
            self.read(readiness.hangup, buffer)
        } else {
            Ok(self.progress())
        }
    }

    fn progress(&self) -> Progress {
        if self.begun {
            Progress::Begun
        } else {
            Progress::Waiting
        }
    }

    fn finish_connecting(&mut self, readiness: Readiness) -> Result<bool, Failure> {
        if !readiness.writable {
            return Ok(false);
        }
        self.stream.connected()?;
        self.phase = if self.stream.is_plain() {
            self.open_phase()
        } else {
            Phase::Handshaking
        };
        Ok(true)
    }

    fn finish_handshake(&mut self) -> Result<bool, Failure> {
        if !self.stream.handshake()? {
            return Ok(false);
        }
        self.phase = self.open_phase();
        Ok(true)
    }

    /// What lies on a new connection before the request is written answers nothing.
    fn expect_silence(&mut self, buffer: &mut [u8]) -> Result<(), Failure> {
        match self.stream.read(buffer)? {
            Moved::Blocked => Ok(()),
            Moved::Bytes(_) => Err(Failure::Unasked),
            Moved::End => Err(Failure::Closed),
        }
    }

    fn open_phase(&self) -> Phase {
        if self.request.is_some() {
            Phase::Exchanging
        } else {
            Phase::Idle
        }
    }

    fn write_rest(&mut self) -> Result<(), Failure> {
        self.stream.flush()?;
        while let Some((request, written)) = &mut self.request {
            match self.stream.write(&request[*written..])? {
                Moved::Bytes(more) => *written += more,
                _ => return Ok(()),
            }
            if *written == request.len() {
                self.request = None;
            }
        }
        Ok(())
    }

    fn read(&mut self, hangup: bool, buffer: &mut [u8]) -> Result<Progress, Failure> {
        for _ in 0..READS {
            match self.stream.read(buffer)? {
                Moved::Blocked => return Ok(self.progress()),
                Moved::End => return self.ended(),
                Moved::Bytes(_) if self.phase == Phase::Idle => return Ok(Progress::Gone),
                Moved::Bytes(read) => {
                    self.begun = true;
                    if let Some(answer) = self.parser.feed(&buffer[..read])? {
                        return Ok(self.finish(answer, hangup));
                    }
                    // A short read has emptied the socket: the next bytes are reported as a new event, unless
                    // the server's end was part of this one.
                    if read < buffer.len() && !hangup && self.stream.is_plain() {
                        return Ok(Progress::Begun);
                    }
                }
            }
        }
        Ok(Progress::More)
    }

    fn finish(&mut self, mut answer: Answer, hangup: bool) -> Progress {
        // An answer that came before all of the request was written leaves the connection in the middle of it.
        answer.keep_alive &= !hangup && self.request.is_none();
        self.request = None;
        self.phase = Phase::Idle;
        Progress::Done(answer)
    }

    fn ended(&mut self) -> Result<Progress, Failure> {
        if self.phase == Phase::Idle {
            return Ok(Progress::Gone);
        }
        let mut answer = self.parser.closed()?;
        answer.keep_alive = false;
        self.phase = Phase::Idle;
        Ok(Progress::Done(answer))
    }
}
