//! Where connections go on to: to one address, or each to where it was meant for before the kernel redirected it.

use crate::door::new_socket;
use rustix::io::Errno;
use rustix::net::sockopt::{ip_original_dst, set_tcp_nodelay};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use socket2::SockRef;
use std::fs::File;
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::path::Path;

/// Where connections go on to, and the mark that they bear (`SO_MARK`); 0 for none.
#[derive(Debug, Clone, Copy)]
pub struct Onward {
    pub to: Option<SocketAddr>,
    pub mark: u32,
}

impl Onward {
    /// Begins to connect to what a caller is to reach; whether it succeeds shows when it is read from.
    pub fn connect(&self, caller: &TcpStream) -> io::Result<TcpStream> {
        let to = self.to.map_or_else(|| meant_for(caller), Ok)?;
        let socket = new_socket(&to)?;
        set_tcp_nodelay(&socket, true)?;
        if self.mark != 0 {
            SockRef::from(&socket).set_mark(self.mark)?;
        }
        match rustix::net::connect(&socket, &to) {
            Ok(()) | Err(Errno::INPROGRESS) => Ok(TcpStream::from(socket)),
            Err(errno) => Err(errno.into()),
        }
    }
}

/// Where a connection was meant for before a rule of the kernel (`REDIRECT`) brought it here.
fn meant_for(caller: &TcpStream) -> io::Result<SocketAddr> {
    let original = SocketAddr::V4(ip_original_dst(caller)?);
    // Whoever connects here by himself would be passed on to here, for ever.
    if original == caller.local_addr()? {
        return Err(io::Error::other("no rule has redirected it here"));
    }
    Ok(original)
}

/// Moves this thread into a network, which a file of `/proc/PID/ns` names; what it opens from then on is there.
pub fn enter(network: &Path) -> Result<(), String> {
    File::open(network)
        .and_then(|file| {
            let moved = move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network));
            moved.map_err(io::Error::from)
        })
        .map_err(|error| format!("cannot enter the network {}: {error}", network.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn a_caller_whom_no_rule_has_redirected_is_not_passed_on() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let _caller = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (accepted, _) = listener.accept().unwrap();
        assert!(Onward { to: None, mark: 0 }.connect(&accepted).is_err());
    }

    #[test]
    fn a_network_that_is_not_there_is_named() {
        let refused = enter(Path::new("/proc/none/ns/net")).unwrap_err();
        assert!(refused.contains("/proc/none/ns/net"), "{refused}");
    }
}
