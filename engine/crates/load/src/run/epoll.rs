//! The real world: sockets, and the kernel's clock.
#![expect(clippy::disallowed_methods, reason = "this is the world that others ask")]

use super::world::{Exchange, World};
use crate::units::Nanos;
use patternbench_wire::{
    AnswerParser, Connection, Expected, Failure, Limits, Poller, Progress, Readiness, Target,
};
use std::time::{Duration, Instant, SystemTime};

/// Scratch space for reading, in bytes.
const BUFFER: usize = 64 * 1024;

/// Sockets watched by one epoll instance.
pub struct Epoll {
    began: Instant,
    /// The moment to come at which the round begins; it begins at once without.
    begins: Option<Instant>,
    limits: Limits,
    poller: Poller,
    buffer: Vec<u8>,
}

impl Epoll {
    /// A world without connections, in which answers are read within limits.
    ///
    /// # Errors
    /// When the process has no file descriptor left.
    pub fn new(limits: Limits) -> std::io::Result<Self> {
        Ok(Self {
            began: Instant::now(),
            begins: None,
            limits,
            poller: Poller::new()?,
            buffer: vec![0; BUFFER],
        })
    }

    /// The world of a round that begins at a moment, together with others.
    #[must_use]
    pub fn beginning(self, begins: Option<Instant>) -> Self {
        Self { begins, ..self }
    }
}

impl World for Epoll {
    type Connection = Connection;

    fn begin(&mut self) {
        let now = Instant::now();
        self.began = self.begins.unwrap_or(now);
        // What wakes up late is late: the round's times count from the moment that all generators have.
        std::thread::sleep(self.began.saturating_duration_since(now));
    }

    #[inline]
    fn now(&self) -> Nanos {
        self.began.elapsed().as_nanos() as Nanos
    }

    fn today(&self) -> SystemTime {
        SystemTime::now()
    }

    fn connect(&mut self, target: &Target, key: u64) -> Result<Connection, Failure> {
        let connection = Connection::open(target, self.limits)?;
        let watched = self.poller.add(&connection, key);
        watched.map(|()| connection).map_err(|_| Failure::Exhausted)
    }

    #[inline]
    fn send(
        &mut self,
        connection: &mut Connection,
        request: &[u8],
        expected: Expected,
    ) -> Result<(), Failure> {
        connection.send(request, expected)
    }

    #[inline]
    fn receive(&mut self, connection: &mut Connection, readiness: Readiness) -> Result<Progress, Failure> {
        connection.ready(readiness, &mut self.buffer)
    }

    fn sleep(&mut self, alarm: Nanos, ready: &mut Vec<Readiness>) -> std::io::Result<()> {
        let timeout = Duration::from_nanos(alarm.saturating_sub(self.now()));
        ready.extend(self.poller.wait(timeout)?);
        Ok(())
    }
}

impl Exchange for Connection {
    #[inline]
    fn parser(&self) -> &AnswerParser {
        Self::parser(self)
    }

    fn reason(&self) -> Option<&str> {
        Self::reason(self)
    }
}
