//! The runtime of users and calls: a clock, connections, and sleep until something happens.
//!
//! Everything that users do is written against [`Runtime`]. The real one is [`super::Epoll`]: sockets and the kernel's
//! clock. In another time jumps from one event to the next and nothing is sent anywhere, while users, policies,
//! schedules and records are the same code.

use crate::units::Nanos;
use patternbench_wire::{AnswerParser, Expected, Failure, Progress, Readiness, Target};
use std::time::SystemTime;

/// What users and calls need to run: time, and connections. All times are nanoseconds from the round's start.
pub trait Runtime {
    /// A connection to a target.
    type Connection: Exchange;

    /// Starts the clock: the round begins when this returns, or shortly before.
    fn begin(&mut self);

    /// How long ago the round began.
    fn now(&self) -> Nanos;

    /// The time of day, which the dates of servers are held against.
    fn today(&self) -> SystemTime;

    /// Begins to connect; what happens on the connection is reported under `key`.
    ///
    /// # Errors
    /// When the connection is refused at once.
    fn connect(&mut self, target: &Target, key: u64) -> Result<Self::Connection, Failure>;

    /// Sends a request, now or as soon as the connection is there.
    ///
    /// # Errors
    /// When the server has gone.
    fn send(
        &mut self,
        connection: &mut Self::Connection,
        request: &[u8],
        expected: Expected,
    ) -> Result<(), Failure>;

    /// Goes on with a connection that something was reported about.
    ///
    /// # Errors
    /// When the exchange has failed; the connection is of no use afterwards.
    fn receive(
        &mut self,
        connection: &mut Self::Connection,
        readiness: Readiness,
    ) -> Result<Progress, Failure>;

    /// When what was read last over a connection had come, where the runtime remembers it.
    fn came(&self, _: &Self::Connection) -> Option<Nanos> {
        None
    }

    /// Sleeps until something happens on a connection or the alarm goes off, and puts what happened into `ready`.
    ///
    /// # Errors
    /// When the runtime refuses to continue.
    fn sleep(&mut self, alarm: Nanos, ready: &mut Vec<Readiness>) -> std::io::Result<()>;

    /// Sleeps until the alarm goes off, whatever happens, and puts what happened meanwhile into `ready`.
    ///
    /// # Errors
    /// When the runtime refuses to continue.
    fn rest(&mut self, alarm: Nanos, ready: &mut Vec<Readiness>) -> std::io::Result<()> {
        self.sleep(alarm, ready)
    }

    /// The seed from which all that is drawn from now on is drawn anew, where the runtime asks for it; only in
    /// simulated time, in which a round may be continued in several ways from one moment on.
    fn reseeded(&mut self) -> Option<u64> {
        None
    }

    /// Whether observers of the log are told of a tick: always, but for simulated time, in which a second may have more
    /// ticks than anyone can watch.
    fn is_watched(&mut self) -> bool {
        true
    }

    /// Whether a round goes on to its end though no call is to come any more; only where calls may still be drawn anew.
    fn lasts(&self) -> bool {
        false
    }
}

/// What a connection knows of its exchanges.
pub trait Exchange {
    /// The parser, for what it kept of the last answer.
    fn parser(&self) -> &AnswerParser;

    /// Why TLS failed, in its own words, when it did.
    fn reason(&self) -> Option<&str>;

    /// Whether a request, or the rest of it, waits to be sent.
    fn is_sending(&self) -> bool {
        false
    }
}
