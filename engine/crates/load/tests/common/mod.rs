//! Servers that follow a script, and jobs run against them.
#![allow(
    dead_code,
    missing_docs,
    clippy::disallowed_methods,
    reason = "tests run outside the runtime that they test"
)]

pub mod simulated;

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Row, RowAccessor};
use patternbench_load::{CommandError, command};
use serde_json::{Value, json};
use std::fs::File;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A request as the server saw it.
#[derive(Debug, Clone)]
pub struct Seen {
    /// Its number, from 0.
    pub number: u64,
    pub line: String,
    pub headers: String,
    pub body: String,
}

impl Seen {
    pub fn path(&self) -> &str {
        self.line.split(' ').nth(1).unwrap_or_default()
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        let matches = |line: &&str| {
            line.split(':')
                .next()
                .is_some_and(|given| given.eq_ignore_ascii_case(name))
        };
        self.headers
            .lines()
            .find(matches)
            .and_then(|line| line.split_once(':'))
            .map(|(_, value)| value.trim())
    }
}

/// What the server does with a request.
pub enum Reply {
    /// Sends this, after a while.
    Send(Duration, String),
    /// Closes the connection without a word.
    HangUp,
}

pub fn ok(body: &str) -> Reply {
    status(200, "", body)
}

pub fn status(status: u16, headers: &str, body: &str) -> Reply {
    Reply::Send(
        Duration::ZERO,
        format!(
            "HTTP/1.1 {status} X\r\nContent-Length: {}\r\n{headers}\r\n{body}",
            body.len()
        ),
    )
}

pub fn after(delay: Duration, body: &str) -> Reply {
    match ok(body) {
        Reply::Send(_, text) => Reply::Send(delay, text),
        Reply::HangUp => Reply::HangUp,
    }
}

/// A server whose answers a function gives; it lives as long as the test.
pub struct Server {
    pub address: SocketAddr,
    pub seen: Arc<Mutex<Vec<Seen>>>,
}

impl Server {
    pub fn start(reply: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (reply, log, count) = (Arc::new(reply), seen.clone(), Arc::new(AtomicU64::new(0)));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (reply, log, count) = (reply.clone(), log.clone(), count.clone());
                std::thread::spawn(move || serve(stream, &*reply, &log, &count));
            }
        });
        Self { address, seen }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn count(&self) -> usize {
        self.seen.lock().unwrap().len()
    }
}

fn serve(
    mut stream: TcpStream,
    reply: &(impl Fn(&Seen) -> Reply + ?Sized),
    log: &Mutex<Vec<Seen>>,
    count: &AtomicU64,
) {
    let mut pending = Vec::new();
    while let Some(mut seen) = read_request(&mut stream, &mut pending) {
        seen.number = count.fetch_add(1, Ordering::SeqCst);
        log.lock().unwrap().push(seen.clone());
        match reply(&seen) {
            Reply::HangUp => return,
            Reply::Send(delay, text) => {
                std::thread::sleep(delay);
                if stream.write_all(text.as_bytes()).is_err() || text.contains("Connection: close") {
                    return;
                }
            }
        }
    }
}

fn read_request(stream: &mut TcpStream, pending: &mut Vec<u8>) -> Option<Seen> {
    let mut buffer = [0; 8192];
    loop {
        if let Some(end) = pending.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&pending[..end]).into_owned();
            let (line, headers) = head.split_once("\r\n").unwrap_or((&head, ""));
            let mut seen = Seen {
                number: 0,
                line: line.to_owned(),
                headers: headers.to_owned(),
                body: String::new(),
            };
            let length: usize = seen
                .header("content-length")
                .and_then(|text| text.parse().ok())
                .unwrap_or(0);
            if pending.len() >= end + 4 + length {
                seen.body = String::from_utf8_lossy(&pending[end + 4..end + 4 + length]).into_owned();
                pending.drain(..end + 4 + length);
                return Some(seen);
            }
        }
        match stream.read(&mut buffer) {
            Ok(0) | Err(_) => return None,
            Ok(read) => pending.extend_from_slice(&buffer[..read]),
        }
    }
}

/// One row of the attempts, as it was read back from the file.
#[derive(Debug, Clone, PartialEq)]
pub struct Attempt {
    pub user: u32,
    pub group: String,
    pub step: String,
    pub call: u32,
    pub attempt: u16,
    pub intended_us: i64,
    pub start_us: i64,
    pub first_byte_us: Option<i64>,
    pub end_us: i64,
    pub outcome: String,
    pub status: Option<u16>,
    pub success: bool,
    pub bytes: Option<u32>,
    pub warm_up: bool,
    pub journey: Option<u32>,
    pub ends_journey: Option<bool>,
    pub items: Option<u32>,
    pub failed_items: Option<u32>,
}

/// A value of a column that only rounds of journeys have.
fn column<T>(row: &Row, place: usize, read: fn(&Row, usize) -> parquet::errors::Result<T>) -> Option<T> {
    (row.len() > place).then(|| read(row, place).ok()).flatten()
}

impl Attempt {
    fn read(row: &Row) -> Self {
        Self {
            user: row.get_uint(0).unwrap(),
            group: row.get_string(1).unwrap().clone(),
            step: row.get_string(2).unwrap().clone(),
            call: row.get_uint(3).unwrap(),
            attempt: row.get_ushort(4).unwrap(),
            intended_us: row.get_long(5).unwrap(),
            start_us: row.get_long(6).unwrap(),
            first_byte_us: row.get_long(7).ok(),
            end_us: row.get_long(8).unwrap(),
            outcome: row.get_string(9).unwrap().clone(),
            status: row.get_ushort(10).ok(),
            success: row.get_bool(11).unwrap(),
            bytes: row.get_uint(12).ok(),
            warm_up: row.get_bool(13).unwrap(),
            journey: column(row, 14, Row::get_uint),
            ends_journey: column(row, 15, Row::get_bool),
            items: column(row, 16, Row::get_uint),
            failed_items: column(row, 17, Row::get_uint),
        }
    }
}

/// What a job left behind.
pub struct Outcome {
    pub summary: Value,
    pub attempts: Vec<Attempt>,
    pub histograms: Value,
    /// The attempts that were reported one by one.
    pub told: Vec<Value>,
}

impl Outcome {
    /// Whether a doubt of this name is among those of the round; a busy machine may add others.
    pub fn has_doubt(&self, name: &str) -> bool {
        self.summary["doubts"]
            .as_array()
            .unwrap()
            .iter()
            .any(|doubt| doubt["name"] == name)
    }

    pub fn with(&self, outcome: &str) -> Vec<&Attempt> {
        self.attempts
            .iter()
            .filter(|attempt| attempt.outcome == outcome)
            .collect()
    }
}

/// A job against one target with one group.
pub fn job(url: &str, workload: Value, steps: Value) -> Value {
    json!({
        "contract": 1, "seed": 7, "targets": [{"url": url}], "drain_us": 2_000_000, "priority": false,
        "groups": [{"workload": workload, "journeys": [{"steps": steps}]}],
    })
}

/// Adds fields to a job.
pub fn with(mut job: Value, more: Value) -> Value {
    let more = more.as_object().unwrap().clone();
    job.as_object_mut().unwrap().extend(more);
    job
}

pub fn try_run(job: &Value) -> Result<Outcome, CommandError> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("job.json");
    std::fs::write(&file, job.to_string()).unwrap();
    let out = folder.path().join("out");
    let summary = command(&file, &out, std::io::sink(), &AtomicBool::new(false))?;
    let histograms = serde_json::from_slice(&std::fs::read(out.join("histograms.json")).unwrap()).unwrap();
    let told = std::fs::read(out.join("trace.json"))
        .map_or(Value::Null, |text| serde_json::from_slice(&text).unwrap());
    let attempts = File::open(out.join("attempts.parquet")).map_or_else(
        |_| Vec::new(),
        |file| {
            let reader = SerializedFileReader::new(file).unwrap();
            reader
                .get_row_iter(None)
                .unwrap()
                .map(|row| Attempt::read(&row.unwrap()))
                .collect()
        },
    );
    Ok(Outcome {
        summary,
        attempts,
        histograms,
        told: told["attempts"].as_array().cloned().unwrap_or_default(),
    })
}

pub fn run(job: &Value) -> Outcome {
    try_run(job).unwrap_or_else(|error| panic!("{}", error.to_json()))
}

/// The paths of all problems of a job that must be wrong.
pub fn wrong_paths(job: &Value) -> Vec<String> {
    match try_run(job).err() {
        Some(CommandError::Problems(problems)) => problems.into_iter().map(|problem| problem.path).collect(),
        other => panic!("the job is not refused: {other:?}"),
    }
}
