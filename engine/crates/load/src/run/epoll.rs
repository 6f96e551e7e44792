//! The runtime in real time: sockets, and the kernel's clock.
#![expect(clippy::disallowed_methods, reason = "this is the runtime that others ask")]

use super::runtime::{Exchange, Runtime};
use crate::units::Nanos;
use patternbench_wire::{
    AnswerParser, Connection, Expected, Failure, Limits, Poller, Progress, Readiness, Target,
};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Scratch space for reading, in bytes.
const BUFFER: usize = 64 * 1024;

/// Sockets watched by one epoll instance.
pub struct Epoll {
    began: Instant,
    /// The moment to come at which the round begins; it begins at once without.
    begins: Option<Instant>,
    limits: Limits,
    /// Whether the kernel is asked when answers come.
    stamped: bool,
    poller: Poller,
    buffer: Vec<u8>,
}

impl Epoll {
    /// A runtime without connections, in which answers are read within limits.
    ///
    /// # Errors
    /// When the process has no file descriptor left.
    pub fn new(limits: Limits) -> std::io::Result<Self> {
        Ok(Self {
            began: Instant::now(),
            begins: None,
            limits,
            stamped: false,
            poller: Poller::new()?,
            buffer: vec![0; BUFFER],
        })
    }

    /// The runtime of a round that begins at a moment, together with others.
    #[must_use]
    pub fn beginning(self, begins: Option<Instant>) -> Self {
        Self { begins, ..self }
    }

    /// The runtime in which the kernel says when answers came over plain connections, however late they are read.
    #[must_use]
    pub fn stamped(self, stamped: bool) -> Self {
        Self { stamped, ..self }
    }
}

impl Runtime for Epoll {
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
        let mut connection = Connection::open(target, self.limits)?;
        if self.stamped {
            connection.stamp();
        }
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

    fn came(&self, connection: &Connection) -> Option<Nanos> {
        let stamp = UNIX_EPOCH + connection.came()?;
        // The difference of two readings of one clock; none where somebody has set that clock back between them.
        let ago = SystemTime::now().duration_since(stamp).ok()?;
        Some(self.now().saturating_sub(ago.as_nanos() as Nanos))
    }

    fn sleep(&mut self, alarm: Nanos, ready: &mut Vec<Readiness>) -> std::io::Result<()> {
        let timeout = Duration::from_nanos(alarm.saturating_sub(self.now()));
        ready.extend(self.poller.wait(timeout)?);
        Ok(())
    }

    fn rest(&mut self, alarm: Nanos, ready: &mut Vec<Readiness>) -> std::io::Result<()> {
        std::thread::sleep(Duration::from_nanos(alarm.saturating_sub(self.now())));
        ready.extend(self.poller.wait(Duration::ZERO)?);
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

    #[inline]
    fn is_sending(&self) -> bool {
        Self::is_sending(self)
    }
}
