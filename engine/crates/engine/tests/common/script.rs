//! A server that answers by a script, and remembers what it was asked.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// What is done with a request.
#[derive(Debug, Clone, Copy)]
pub enum Act {
    /// It is answered at once, with this status and a short body.
    Status(u16),
    /// It is answered in chunks, with a pause between them.
    Chunked(u16),
    /// It is answered after this many milliseconds.
    After(u64, u16),
    /// It is never answered.
    Hang,
    /// The connection is closed without an answer.
    Close,
    /// The answer isn't HTTP.
    Garbage,
    /// More is announced than comes before the connection closes.
    HalfABody,
    /// A body is announced, as an answer to HEAD does it, and none comes.
    HeadAlone,
}

/// Follows the script over all connections, and begins again at its end.
pub struct Scripted {
    pub url: String,
    memory: Arc<Memory>,
}

struct Memory {
    script: Vec<Act>,
    requests: Mutex<Vec<String>>,
    connections: AtomicU64,
}

impl Scripted {
    pub fn start(script: &[Act]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (requests, connections) = (Mutex::default(), AtomicU64::new(0));
        let memory = Arc::new(Memory {
            script: script.to_vec(),
            requests,
            connections,
        });
        let shared = Arc::clone(&memory);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let memory = Arc::clone(&shared);
                memory.connections.fetch_add(1, Ordering::Relaxed);
                thread::spawn(move || memory.converse(stream.unwrap()));
            }
        });
        Self { url, memory }
    }

    /// All requests so far, head and body.
    pub fn requests(&self) -> Vec<String> {
        self.memory.requests.lock().unwrap().clone()
    }

    pub fn connections(&self) -> u64 {
        self.memory.connections.load(Ordering::Relaxed)
    }
}

impl Memory {
    fn converse(&self, stream: TcpStream) {
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let mut writer = stream;
        while let Some(request) = read_request(&mut reader) {
            let act = self.remember(request);
            if !perform(act, &mut writer) {
                return;
            }
        }
    }

    fn remember(&self, request: String) -> Act {
        let mut requests = self.requests.lock().unwrap();
        let act = self.script[requests.len() % self.script.len()];
        requests.push(request);
        act
    }
}

fn read_request(reader: &mut BufReader<TcpStream>) -> Option<String> {
    let mut text = String::new();
    while !text.ends_with("\r\n\r\n") {
        if reader.read_line(&mut text).ok()? == 0 {
            return None;
        }
    }
    let length = text.to_ascii_lowercase();
    let length = length
        .split("content-length: ")
        .nth(1)
        .and_then(|rest| rest.lines().next()?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    Some(text + &String::from_utf8_lossy(&body))
}

/// Whether the connection can continue.
fn perform(act: Act, writer: &mut TcpStream) -> bool {
    let head = |status| format!("HTTP/1.1 {status} X\r\nLocation: /elsewhere\r\n");
    let short = |status| format!("{}Content-Length: 2\r\n\r\nok", head(status));
    let sent = match act {
        Act::Status(status) => writer.write_all(short(status).as_bytes()),
        Act::After(ms, status) => {
            thread::sleep(Duration::from_millis(ms));
            writer.write_all(short(status).as_bytes())
        }
        Act::Chunked(status) => {
            let first = format!("{}Transfer-Encoding: chunked\r\n\r\n1\r\no\r\n", head(status));
            let sent = writer.write_all(first.as_bytes());
            thread::sleep(Duration::from_millis(30));
            sent.and_then(|()| writer.write_all(b"1\r\nk\r\n0\r\n\r\n"))
        }
        Act::Hang => {
            thread::sleep(Duration::from_secs(20));
            return false;
        }
        Act::Close => return false,
        Act::Garbage => {
            let _ = writer.write_all(b"220 mail.example.com ESMTP\r\n\r\n");
            return false;
        }
        Act::HeadAlone => writer.write_all(format!("{}Content-Length: 100\r\n\r\n", head(200)).as_bytes()),
        Act::HalfABody => {
            let _ = writer.write_all(format!("{}Content-Length: 100\r\n\r\nok", head(200)).as_bytes());
            return false;
        }
    };
    sent.is_ok()
}
