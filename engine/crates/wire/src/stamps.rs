//! When the kernel took in what is read from a socket, however late it is read.

use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg, setsockopt, sockopt};
use nix::sys::time::TimeSpec;
use rustix::io::Errno;
use std::io::IoSliceMut;
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

/// Reads that tell when the kernel had what they read.
pub struct Stamps {
    /// Room for what the kernel says next to the bytes.
    beside: Vec<u8>,
    /// When it had the last of the bytes that were read last, since 1970.
    latest: Option<Duration>,
}

impl Stamps {
    /// Asks the kernel to tell; nothing where it refuses.
    pub fn of(socket: &impl AsFd) -> Option<Self> {
        setsockopt(socket, sockopt::ReceiveTimestampns, &true).ok()?;
        Some(Self {
            beside: nix::cmsg_space!(TimeSpec),
            latest: None,
        })
    }

    /// Reads as `recv` does.
    pub fn read(&mut self, socket: &impl AsFd, buffer: &mut [u8]) -> Result<usize, Errno> {
        self.latest = None;
        let (socket, mut parts) = (socket.as_fd().as_raw_fd(), [IoSliceMut::new(buffer)]);
        let received = recvmsg::<()>(socket, &mut parts, Some(&mut self.beside), MsgFlags::empty())
            .map_err(|errno| Errno::from_raw_os_error(errno as i32))?;
        self.latest = received
            .cmsgs()
            .ok()
            .and_then(|mut beside| beside.find_map(stamp));
        Ok(received.bytes)
    }

    /// When the kernel had the last of the bytes that were read last, since 1970, if it has told.
    pub fn latest(&self) -> Option<Duration> {
        self.latest
    }
}

fn stamp(beside: ControlMessageOwned) -> Option<Duration> {
    match beside {
        ControlMessageOwned::ScmTimestampns(at) => Some(Duration::from(at)),
        _ => None,
    }
}
