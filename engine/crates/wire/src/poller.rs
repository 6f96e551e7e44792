//! Waiting for many sockets at once.

use rustix::event::{Timespec, epoll};
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

/// How many sockets are reported at once.
const EVENTS: usize = 512;

/// What a socket is ready for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Readiness {
    /// The number under which the socket was added.
    pub key: u64,
    /// There may be something to read.
    pub readable: bool,
    /// There may be room to write.
    pub writable: bool,
    /// The other side has closed, or the socket is broken.
    pub hangup: bool,
}

/// An epoll instance; sockets are reported once for every change (edge-triggered), which costs no call per request.
pub struct Poller {
    epoll: OwnedFd,
    events: Vec<epoll::Event>,
}

impl Poller {
    /// A poller without sockets.
    ///
    /// # Errors
    /// When the process has no file descriptor left.
    pub fn new() -> std::io::Result<Self> {
        Ok(Self {
            epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            events: Vec::with_capacity(EVENTS),
        })
    }

    /// Watches a socket until it is closed.
    ///
    /// # Errors
    /// When the kernel has no memory or watch left.
    pub fn add(&self, socket: &impl AsFd, key: u64) -> std::io::Result<()> {
        use epoll::EventFlags as Flags;
        let flags = Flags::IN | Flags::OUT | Flags::RDHUP | Flags::ET;
        Ok(epoll::add(
            &self.epoll,
            socket,
            epoll::EventData::new_u64(key),
            flags,
        )?)
    }

    /// Waits until a socket is ready or the time is over, to the microsecond, and returns what is ready.
    ///
    /// # Errors
    /// When the kernel refuses to wait. An interrupting signal isn't an error; nothing is ready then.
    pub fn wait(&mut self, timeout: Duration) -> std::io::Result<impl Iterator<Item = Readiness> + '_> {
        let timeout = Timespec {
            tv_sec: i64::try_from(timeout.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(timeout.subsec_nanos()),
        };
        self.events.clear();
        let waited = epoll::wait(
            &self.epoll,
            rustix::buffer::spare_capacity(&mut self.events),
            Some(&timeout),
        );
        match waited {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(self.events.iter().map(readiness)),
            Err(errno) => Err(errno.into()),
        }
    }
}

fn readiness(event: &epoll::Event) -> Readiness {
    use epoll::EventFlags as Flags;
    let flags = event.flags;
    Readiness {
        key: event.data.u64(),
        readable: flags.intersects(Flags::IN | Flags::RDHUP | Flags::HUP | Flags::ERR),
        writable: flags.intersects(Flags::OUT | Flags::HUP | Flags::ERR),
        hangup: flags.intersects(Flags::RDHUP | Flags::HUP | Flags::ERR),
    }
}
