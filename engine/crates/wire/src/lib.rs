//! HTTP/1.1 client connections as explicit state machines over non-blocking sockets.
//!
//! [`AnswerParser`] reads answers without doing I/O, within stated limits for any server. [`Connection`]
//! carries one request at a time over TCP, a Unix socket or TLS. [`Poller`] waits for many of them at once.
//! Nothing here blocks, sleeps or reads a clock.

mod answer;
mod chunked;
mod connection;
mod file;
mod head;
mod poller;
mod request;
mod stamps;
mod stream;
mod target;
mod tls;

pub use answer::{Answer, AnswerParser, Expected, Limits};
pub use connection::{Connection, Progress};
pub use file::{read_file, read_text};
pub use head::{Framing, Head, headers_of};
pub use poller::{Poller, Readiness};
pub use request::{Method, Request};
pub use target::{Endpoint, Target, TargetError, hostname, is_origin, origin};
pub use tls::{TlsError, TlsSettings};

/// Why an exchange on a connection failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Failure {
    /// No one listens at the address.
    Refused,
    /// The server reset the connection.
    Reset,
    /// The connection was closed before the answer was complete.
    Closed,
    /// The answer is not HTTP/1.
    Malformed,
    /// The server sent something on a new connection before anything was asked of it.
    Unasked,
    /// The answer's head or body is larger than the limits allow.
    TooLarge,
    /// TLS could not be agreed on, or the certificate is not trusted.
    Tls,
    /// The process or the machine has no file descriptor, port or buffer left.
    Exhausted,
    /// Any other error of the operating system, such as an unreachable network.
    Other,
}

impl Failure {
    /// Every kind, in the order in which they are listed.
    pub const ALL: [Self; 9] = [
        Self::Refused,
        Self::Reset,
        Self::Closed,
        Self::Malformed,
        Self::Unasked,
        Self::TooLarge,
        Self::Tls,
        Self::Exhausted,
        Self::Other,
    ];

    /// The name under which it is counted.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Reset => "reset",
            Self::Closed => "closed",
            Self::Malformed => "malformed",
            Self::Unasked => "unasked",
            Self::TooLarge => "too_large",
            Self::Tls => "tls",
            Self::Exhausted => "exhausted",
            Self::Other => "other",
        }
    }
}

impl From<rustix::io::Errno> for Failure {
    fn from(errno: rustix::io::Errno) -> Self {
        use rustix::io::Errno;
        match errno {
            // A Unix socket that isn't there is a service that isn't there.
            Errno::CONNREFUSED | Errno::NOENT => Self::Refused,
            Errno::CONNRESET | Errno::PIPE | Errno::CONNABORTED => Self::Reset,
            // AGAIN is what a Unix socket says when the server's backlog is full.
            Errno::MFILE
            | Errno::NFILE
            | Errno::ADDRNOTAVAIL
            | Errno::NOBUFS
            | Errno::NOMEM
            | Errno::AGAIN => Self::Exhausted,
            _ => Self::Other,
        }
    }
}
