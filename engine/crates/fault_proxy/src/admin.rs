//! The orders of the proxy: a line of JSON for each, and a line of JSON for each answer.

use crate::faults::Kind;
use serde::Deserialize;
use serde_json::Value;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};

/// Bytes of an order at most.
const LONGEST: usize = 64 * 1024;

/// An order.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Order {
    /// A fault begins to act, under a name.
    Begin { name: String, fault: Kind },
    /// The fault of that name ends.
    End { name: String },
}

/// The one who gives orders; a new one takes the place of the one before.
pub struct Admin {
    pub listener: TcpListener,
    pub stream: Option<TcpStream>,
    heard: Vec<u8>,
}

impl Admin {
    pub fn open(address: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        Ok(Self {
            listener,
            stream: None,
            heard: Vec::new(),
        })
    }

    /// Accepts a waiting connection; whether there was one.
    pub fn accept(&mut self) -> bool {
        let Ok((stream, _)) = self.listener.accept() else {
            return false;
        };
        self.heard.clear();
        let ready = stream
            .set_nonblocking(true)
            .and_then(|()| stream.set_nodelay(true));
        self.stream = ready.is_ok().then_some(stream);
        self.stream.is_some()
    }

    /// The whole lines that have arrived, and whether the connection is still there.
    pub fn hear(&mut self) -> (Vec<String>, bool) {
        let there = self.read();
        if !there {
            self.stream = None;
        }
        let end = self
            .heard
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |place| place + 1);
        let lines: Vec<u8> = self.heard.drain(..end).collect();
        let lines = String::from_utf8_lossy(&lines);
        (lines.lines().map(str::to_owned).collect(), there)
    }

    fn read(&mut self) -> bool {
        let Some(stream) = &mut self.stream else {
            return false;
        };
        let mut buffer = [0; 4096];
        while self.heard.len() < LONGEST {
            match stream.read(&mut buffer) {
                Ok(0) => return false,
                Ok(count) => self.heard.extend_from_slice(&buffer[..count]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return true,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return false,
            }
        }
        false
    }

    /// Answers an order, without waiting for a client that doesn't read.
    pub fn say(&mut self, answer: &Value) {
        if let Some(stream) = &mut self.stream {
            let _ = stream.write_all(format!("{answer}\n").as_bytes());
        }
    }
}
