//! Bytes to and from a server, plain or through TLS; nothing here blocks.

use crate::Failure;
use crate::stamps::Stamps;
use crate::target::{Endpoint, Target};
use rustix::io::Errno;
use rustix::net::{self, AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// What became of an attempt to move bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moved {
    /// This many bytes were moved.
    Bytes(usize),
    /// Nothing can be moved now.
    Blocked,
    /// The other side has closed.
    End,
}

/// A socket, with TLS over it or not.
pub struct Stream {
    socket: OwnedFd,
    tls: Option<Box<rustls::ClientConnection>>,
    /// When bytes came, where that is asked for.
    stamps: Option<Stamps>,
    /// Why TLS failed, in its own words.
    reason: Option<String>,
}

/// The socket as TLS wants it: a reader and a writer that say `WouldBlock`.
struct Raw<'a>(BorrowedFd<'a>);

impl io::Read for Raw<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        Ok(net::recv(self.0, buffer, RecvFlags::empty())?.0)
    }
}

impl io::Write for Raw<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(net::send(self.0, bytes, SendFlags::NOSIGNAL)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Stream {
    /// Begins to connect; whether it succeeded is known when the socket is writable.
    pub fn connect(target: &Target) -> Result<Self, Failure> {
        let socket = match &target.endpoint {
            Endpoint::Tcp(address) => {
                let family = if address.is_ipv4() {
                    AddressFamily::INET
                } else {
                    AddressFamily::INET6
                };
                let socket = new_socket(family)?;
                net::sockopt::set_tcp_nodelay(&socket, true)?;
                begun(net::connect(&socket, address))?;
                socket
            }
            Endpoint::Unix(path) => {
                let socket = new_socket(AddressFamily::UNIX)?;
                begun(net::connect(&socket, &net::SocketAddrUnix::new(path)?))?;
                socket
            }
        };
        let tls = match &target.tls {
            Some((config, name)) => {
                let client = rustls::ClientConnection::new(config.clone(), name.clone());
                Some(Box::new(client.map_err(|_| Failure::Tls)?))
            }
            None => None,
        };
        Ok(Self {
            socket,
            tls,
            stamps: None,
            reason: None,
        })
    }

    /// Whether connecting failed.
    pub fn connected(&self) -> Result<(), Failure> {
        net::sockopt::socket_error(&self.socket)??;
        Ok(())
    }

    /// Asks the kernel to say when bytes come; with TLS they are not those that are read.
    pub fn stamp(&mut self) {
        self.stamps = self.is_plain().then(|| Stamps::of(&self.socket)).flatten();
    }

    /// When the kernel had the bytes that were read last, since 1970, where it tells.
    pub fn came(&self) -> Option<Duration> {
        self.stamps.as_ref()?.latest()
    }

    /// Reads into `buffer`; the end of a TLS stream without its closing message is an end like any other.
    pub fn read(&mut self, buffer: &mut [u8]) -> Result<Moved, Failure> {
        let Some(tls) = &mut self.tls else {
            let read = match &mut self.stamps {
                Some(stamps) => stamps.read(&self.socket, buffer),
                None => net::recv(&self.socket, buffer, RecvFlags::empty()).map(|(read, _)| read),
            };
            return match read {
                Ok(0) => Ok(Moved::End),
                Ok(read) => Ok(Moved::Bytes(read)),
                Err(Errno::AGAIN | Errno::INTR) => Ok(Moved::Blocked),
                Err(errno) => Err(errno.into()),
            };
        };
        read_tls(tls, &mut Raw(self.socket.as_fd()), buffer)
    }

    /// Writes as much of `bytes` as there is room for. TLS takes all of it and keeps what the socket doesn't take: see [`Stream::flush`].
    pub fn write(&mut self, bytes: &[u8]) -> Result<Moved, Failure> {
        let Some(tls) = &mut self.tls else {
            return match net::send(&self.socket, bytes, SendFlags::NOSIGNAL) {
                Ok(written) => Ok(Moved::Bytes(written)),
                Err(Errno::AGAIN | Errno::INTR) => Ok(Moved::Blocked),
                Err(errno) => Err(errno.into()),
            };
        };
        let taken = tls.writer().write(bytes).map_err(|_| Failure::Tls)?;
        self.flush()?;
        Ok(if taken == 0 {
            Moved::Blocked
        } else {
            Moved::Bytes(taken)
        })
    }

    /// Writes what TLS has to say, as far as there is room.
    pub fn flush(&mut self) -> Result<(), Failure> {
        let Some(tls) = &mut self.tls else { return Ok(()) };
        let mut raw = Raw(self.socket.as_fd());
        while tls.wants_write() {
            match tls.write_tls(&mut raw) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(failure_of(&error)),
            }
        }
        Ok(())
    }

    /// Goes on agreeing on keys, and returns whether that is done.
    pub fn handshake(&mut self) -> Result<bool, Failure> {
        let Self {
            socket, tls, reason, ..
        } = self;
        let Some(tls) = tls else { return Ok(true) };
        let mut raw = Raw(socket.as_fd());
        while tls.is_handshaking() {
            // Reads and writes what can be without blocking, and processes what came.
            match tls.complete_io(&mut raw) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(!tls.is_handshaking()),
                Err(error) => {
                    *reason = Some(error.to_string());
                    return Err(handshake_failure(&error));
                }
            }
        }
        self.flush()?;
        Ok(true)
    }

    /// Why TLS failed, when it did.
    pub fn reason(&self) -> Option<&str> {
        self.reason.as_deref()
    }

    /// Whether bytes come from the socket as they are.
    pub fn is_plain(&self) -> bool {
        self.tls.is_none()
    }
}

fn read_tls(
    tls: &mut rustls::ClientConnection,
    raw: &mut Raw<'_>,
    buffer: &mut [u8],
) -> Result<Moved, Failure> {
    loop {
        match tls.reader().read(buffer) {
            Ok(0) => return Ok(Moved::End),
            Ok(read) => return Ok(Moved::Bytes(read)),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(Moved::End),
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(failure_of(&error)),
            Err(_) => {}
        }
        match tls.read_tls(raw) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(Moved::Blocked),
            Err(error) => return Err(failure_of(&error)),
        }
        if tls.process_new_packets().is_err() {
            // The alert tells the server why; it can't matter whether it arrives.
            let _ = tls.write_tls(raw);
            return Err(Failure::Tls);
        }
        let _ = tls.wants_write().then(|| tls.write_tls(raw));
    }
}

fn new_socket(family: AddressFamily) -> Result<OwnedFd, Failure> {
    Ok(net::socket_with(
        family,
        SocketType::STREAM,
        SocketFlags::NONBLOCK | SocketFlags::CLOEXEC,
        None,
    )?)
}

fn begun(connecting: Result<(), Errno>) -> Result<(), Failure> {
    match connecting {
        Ok(()) | Err(Errno::INPROGRESS) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

fn failure_of(error: &io::Error) -> Failure {
    error
        .raw_os_error()
        .map_or(Failure::Tls, |raw| Errno::from_raw_os_error(raw).into())
}

/// A server that closes or resets in the middle of a handshake has refused it; only errors of the system are others.
fn handshake_failure(error: &io::Error) -> Failure {
    match error
        .raw_os_error()
        .map(|raw| Failure::from(Errno::from_raw_os_error(raw)))
    {
        Some(Failure::Exhausted) => Failure::Exhausted,
        Some(Failure::Reset) => Failure::Reset,
        _ => Failure::Tls,
    }
}
