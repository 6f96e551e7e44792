//! Where callers come in: a listener that can be closed without giving its port away.

use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, listen, socket_with, sockopt};
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;

/// Callers that wait to be let in at most.
const BACKLOG: i32 = 4096;

/// An address, and a listener on it while it is open.
pub struct Door {
    /// Bound to the address and never listening: it keeps the port from being given to anybody else.
    _keeper: TcpListener,
    pub address: SocketAddr,
    pub listener: Option<TcpListener>,
}

impl Door {
    /// Opens a door; port 0 takes a free one.
    pub fn open(address: SocketAddr) -> io::Result<Self> {
        let keeper = TcpListener::from(bound(address)?);
        let address = keeper.local_addr()?;
        let mut door = Self {
            _keeper: keeper,
            address,
            listener: None,
        };
        door.reopen()?;
        Ok(door)
    }

    /// Lets callers in again.
    pub fn reopen(&mut self) -> io::Result<()> {
        let socket = bound(self.address)?;
        listen(&socket, BACKLOG)?;
        self.listener = Some(TcpListener::from(socket));
        Ok(())
    }

    /// The kernel refuses connections from now on, as if no program were there.
    pub fn close(&mut self) {
        self.listener = None;
    }
}

fn bound(address: SocketAddr) -> io::Result<OwnedFd> {
    let socket = new_socket(&address)?;
    // Not SO_REUSEADDR, with which anybody else could take the port while no one listens.
    sockopt::set_socket_reuseport(&socket, true)?;
    bind(&socket, &address)?;
    Ok(socket)
}

/// A TCP socket that never blocks.
pub fn new_socket(address: &SocketAddr) -> io::Result<OwnedFd> {
    let family = if address.is_ipv4() {
        AddressFamily::INET
    } else {
        AddressFamily::INET6
    };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    Ok(socket_with(family, SocketType::STREAM, flags, None)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpStream;

    #[test]
    fn a_closed_door_refuses_and_keeps_its_port() {
        let mut door = Door::open("127.0.0.1:0".parse().unwrap()).unwrap();
        for _ in 0..3 {
            TcpStream::connect(door.address).unwrap();
            door.close();
            let refused = TcpStream::connect(door.address).unwrap_err();
            assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
            assert!(TcpListener::bind(door.address).is_err(), "the port is free");
            door.reopen().unwrap();
        }
    }
}
