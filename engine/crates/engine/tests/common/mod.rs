//! Starts the engine as a process and speaks to it.
#![allow(dead_code, missing_docs, reason = "each test uses its part")]

pub mod script;

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::time::{Duration, Instant};

pub const ENGINE: &str = env!("CARGO_BIN_EXE_patternbench-engine");

/// A running `target` or `client`; killed at the end of the test, however that ends.
pub struct Served {
    child: Child,
    pub url: String,
}

impl Served {
    pub fn start(arguments: &[&str]) -> Self {
        let mut child = Command::new(ENGINE)
            .args(arguments)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let ready: serde_json::Value =
            serde_json::from_str(&line).expect("a line that says where it listens");
        let url = format!("http://{}", ready["listening"].as_str().unwrap());
        Self { child, url }
    }

    pub fn at(&self, path: &str) -> String {
        format!("{}{path}", self.url)
    }

    /// Tells it to stop, and waits until it has; its exit code.
    pub fn stop(mut self) -> Option<i32> {
        signal(self.child.id(), "TERM");
        self.child.wait().unwrap().code()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn run(arguments: &[&str]) -> Output {
    Command::new(ENGINE)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

pub fn signal(pid: u32, name: &str) {
    let status = Command::new("kill")
        .args([&format!("-{name}"), &pid.to_string()])
        .status()
        .unwrap();
    assert!(status.success(), "kill -{name} {pid}");
}

/// Whether a process is there and not only waiting to be reaped.
pub fn is_alive(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ")
        .is_some_and(|(_, fields)| !fields.starts_with(['Z', 'X']))
}

/// Looks again and again until it is so; fails the test when it is not so within ten seconds.
pub fn eventually(what: &str, is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while !is_so() {
        assert!(Instant::now() < deadline, "not within ten seconds: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

pub fn agent() -> ureq::Agent {
    let config = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0);
    config
        .timeout_global(Some(Duration::from_secs(20)))
        .build()
        .into()
}

pub fn get(url: &str) -> (u16, String) {
    let mut answer = agent().get(url).call().unwrap();
    (answer.status().as_u16(), text(answer.body_mut()))
}

pub fn post(url: &str, body: &str) -> (u16, String) {
    let mut answer = agent().post(url).send(body).unwrap();
    (answer.status().as_u16(), text(answer.body_mut()))
}

/// The next line that a process writes.
pub fn next_line(reader: &mut BufReader<ChildStdout>) -> String {
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    line.trim().to_owned()
}

pub fn rest(mut reader: impl Read) -> String {
    let mut text = String::new();
    reader.read_to_string(&mut text).unwrap();
    text
}

fn text(body: &mut ureq::Body) -> String {
    String::from_utf8_lossy(&body.read_to_vec().unwrap()).into_owned()
}
