//! A caller and the service, joined: what one says is passed to the other, as the faults allow.

use crate::active::Faults;
use crate::bucket::Bucket;
use crate::faults::End;
use crate::line::{After, Delivered, Held, Line};
use crate::request::{self, Swallowed};
use patternbench_timing::Nanos;
use rustix::net::sockopt::set_socket_linger;
use std::io::{self, ErrorKind, Read};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

/// How often a connection that always has more to say is listened to before others have their turn.
const TURNS: usize = 16;

/// What all connections share.
pub struct Shared {
    pub faults: Faults,
    /// The bandwidth towards the service, and back.
    pub buckets: (Bucket, Bucket),
    /// How long every byte is held, in each direction.
    pub latency: Nanos,
    /// How many bytes may be under way in a direction before a sender has to wait.
    pub room: usize,
    /// Whether nothing passes.
    pub cut: bool,
}

/// What came of a look at a connection.
pub enum Pumped {
    /// It is over.
    Closed,
    /// It continues; the moment at which there is something to do, if that is known.
    Open(Option<Nanos>),
}

/// What is done with what a caller says.
enum State {
    Passing,
    /// The request is read and not passed on; then it is answered with this status.
    Swallowing(Swallowed, u16),
    /// A fault keeps this caller waiting.
    Stalled(u32),
    /// Nothing is of interest any more but the end.
    Deaf,
}

/// A pair of sockets.
pub struct Connection {
    caller: Socket,
    service: Socket,
    there: Line,
    back: Line,
    state: State,
    /// Whether the caller has said something since the service last did.
    asking: bool,
    /// What holds the request back that has just begun.
    held: Option<Held>,
    /// Whether the answer is to end in its middle.
    reset_answer: bool,
    over: bool,
    /// When it will be looked at next, as far as that is set.
    pub alarm: Option<Nanos>,
}

impl Connection {
    /// Joins a caller to the service, to which a connection has begun.
    pub fn new(caller: TcpStream, service: TcpStream) -> io::Result<Self> {
        caller.set_nonblocking(true)?;
        caller.set_nodelay(true)?;
        Ok(Self {
            caller: Socket::new(caller),
            service: Socket::new(service),
            there: Line::default(),
            back: Line::default(),
            state: State::Passing,
            asking: false,
            held: None,
            reset_answer: false,
            over: false,
            alarm: None,
        })
    }

    /// The sockets of caller and service.
    pub fn sockets(&self) -> [&TcpStream; 2] {
        [&self.caller.stream, &self.service.stream]
    }

    /// Takes note of a socket that has something to read.
    pub fn is_readable(&mut self, of_service: bool) {
        let socket = if of_service {
            &mut self.service
        } else {
            &mut self.caller
        };
        socket.readable = true;
    }

    /// The fault that keeps the caller waiting.
    pub fn stalled_by(&self) -> Option<u32> {
        if let State::Stalled(by) = self.state {
            Some(by)
        } else {
            None
        }
    }

    /// Resets both sides when it is dropped.
    pub fn reset(&self) {
        for socket in self.sockets() {
            let _ = set_socket_linger(socket, Some(Duration::ZERO));
        }
    }

    /// Moves all bytes that can be moved.
    pub fn pump(&mut self, shared: &mut Shared, scratch: &mut [u8], now: Nanos) -> Pumped {
        if shared.cut {
            return Pumped::Open(None);
        }
        for _ in 0..TURNS {
            self.hear_caller(shared, scratch, now);
            self.hear_service(shared, scratch, now);
            let next = [self.ask(shared, now), self.answer(shared, now)]
                .into_iter()
                .flatten()
                .min();
            if self.over {
                return Pumped::Closed;
            }
            if !self.has_more(shared) {
                return Pumped::Open(next);
            }
        }
        Pumped::Open(Some(now))
    }

    fn has_more(&self, shared: &Shared) -> bool {
        self.caller.speaks_into(&self.there, shared) || self.service.speaks_into(&self.back, shared)
    }

    fn hear_caller(&mut self, shared: &mut Shared, scratch: &mut [u8], now: Nanos) {
        while self.caller.speaks_into(&self.there, shared) {
            let heard = self.caller.read(scratch);
            let lost = matches!(self.state, State::Stalled(_) | State::Deaf);
            match heard {
                Heard::Nothing => {}
                Heard::Bytes(count) => self.asked(&scratch[..count], shared, now),
                Heard::End | Heard::Broken if lost => self.over = true,
                Heard::End => self.there.push(now + shared.latency, &[], After::Shut, None),
                Heard::Broken => self.there.push(now + shared.latency, &[], After::Reset, None),
            }
        }
    }

    fn hear_service(&mut self, shared: &mut Shared, scratch: &mut [u8], now: Nanos) {
        while self.service.speaks_into(&self.back, shared) {
            let heard = self.service.read(scratch);
            let due = now + shared.latency;
            match heard {
                Heard::Nothing => {}
                _ if matches!(self.state, State::Stalled(_) | State::Deaf) => {}
                Heard::Bytes(count) => self.answered(&scratch[..count], due),
                Heard::End => self.back.push(due, &[], After::Shut, None),
                Heard::Broken => self.back.push(due, &[], After::Reset, None),
            }
        }
    }

    /// The caller has said something.
    fn asked(&mut self, bytes: &[u8], shared: &mut Shared, now: Nanos) {
        if !self.asking {
            self.asking = true;
            self.decide(shared, now);
        }
        match &mut self.state {
            State::Passing => {
                let held = self.held.take();
                let due = held.map_or(now + shared.latency, |held| held.until);
                self.there.push(due, bytes, After::Nothing, held);
            }
            State::Swallowing(request, status) => {
                let (read, status) = (request.take(bytes), *status);
                self.swallowed(read, status, now);
            }
            State::Stalled(_) | State::Deaf => {}
        }
    }

    /// A request begins: decides what becomes of it.
    fn decide(&mut self, shared: &mut Shared, now: Nanos) {
        let decision = shared.faults.decide();
        let (by, until) = (decision.held_by, now + shared.latency + decision.fate.hold);
        self.held = (decision.fate.hold > 0).then_some(Held { by, until });
        match decision.fate.end {
            End::Answered => {}
            End::Aborted(status) => self.state = State::Swallowing(Swallowed::default(), status),
            End::Stalled => self.state = State::Stalled(decision.ended_by),
            End::Reset => self.reset_answer = true,
        }
    }

    /// A request that is not passed on has been read so far; at its end it is answered.
    fn swallowed(&mut self, read: request::Read, status: u16, now: Nanos) {
        let last = match read {
            request::Read::Part => return,
            request::Read::Whole => false,
            request::Read::Endless => true,
        };
        let held = self.held.take();
        let due = held.map_or(now, |held| held.until);
        let after = if last { After::Shut } else { After::Nothing };
        self.back.push(due, &request::answer(status, last), after, held);
        self.state = if last { State::Deaf } else { State::Passing };
        self.asking = false;
    }

    /// The service has said something.
    fn answered(&mut self, bytes: &[u8], due: Nanos) {
        self.asking = false;
        if self.reset_answer {
            let half = (bytes.len() / 2).max(1);
            self.back.push(due, &bytes[..half], After::Reset, None);
            self.state = State::Deaf;
        } else {
            self.back.push(due, bytes, After::Nothing, None);
        }
    }

    /// Passes on to the service what is due; the moment at which more is.
    fn ask(&mut self, shared: &mut Shared, now: Nanos) -> Option<Nanos> {
        let faults = &mut shared.faults;
        let told = |held| faults.released(held, now);
        let delivered = self
            .there
            .deliver(&mut self.service.stream, now, &mut shared.buckets.0, told);
        match delivered {
            Delivered::Until(at) => return Some(at),
            Delivered::All | Delivered::Blocked => {}
            Delivered::Shut => self.service.shut(),
            Delivered::Reset => self.end_in_a_reset(),
            // Bytes that it still sends are read all the same.
            Delivered::Gone => self.there.clear(),
        }
        self.over |= self.is_done();
        None
    }

    /// Passes on to the caller what is due; the moment at which more is.
    fn answer(&mut self, shared: &mut Shared, now: Nanos) -> Option<Nanos> {
        let faults = &mut shared.faults;
        let told = |held| faults.released(held, now);
        let delivered = self
            .back
            .deliver(&mut self.caller.stream, now, &mut shared.buckets.1, told);
        match delivered {
            Delivered::Until(at) => return Some(at),
            Delivered::All | Delivered::Blocked => {}
            Delivered::Shut => self.caller.shut(),
            Delivered::Reset | Delivered::Gone => self.end_in_a_reset(),
        }
        self.over |= self.is_done();
        None
    }

    fn end_in_a_reset(&mut self) {
        self.reset();
        self.over = true;
    }

    fn is_done(&self) -> bool {
        self.caller.is_shut && self.service.is_shut
    }
}

/// One side of a connection.
struct Socket {
    stream: TcpStream,
    /// Whether there may be something to read.
    readable: bool,
    /// Whether it has said all that it had to.
    ended: bool,
    /// Whether its writing half was shut.
    is_shut: bool,
}

/// What a side said.
enum Heard {
    Nothing,
    Bytes(usize),
    End,
    Broken,
}

impl Socket {
    fn new(stream: TcpStream) -> Self {
        Self {
            stream,
            readable: true,
            ended: false,
            is_shut: false,
        }
    }

    fn speaks_into(&self, line: &Line, shared: &Shared) -> bool {
        self.readable && !self.ended && line.len() < shared.room
    }

    fn read(&mut self, buffer: &mut [u8]) -> Heard {
        match self.stream.read(buffer) {
            Ok(0) => self.end(Heard::End),
            Ok(count) => Heard::Bytes(count),
            Err(error) if error.kind() == ErrorKind::Interrupted => Heard::Nothing,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                self.readable = false;
                Heard::Nothing
            }
            Err(_) => self.end(Heard::Broken),
        }
    }

    fn end(&mut self, how: Heard) -> Heard {
        self.ended = true;
        how
    }

    fn shut(&mut self) {
        let _ = self.stream.shutdown(Shutdown::Write);
        self.is_shut = true;
    }
}
