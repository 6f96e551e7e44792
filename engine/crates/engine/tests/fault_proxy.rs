//! The fault proxy adds latency, keeps the order of bytes, passes ends on, and injects the faults of its orders.

mod common;

use common::{ENGINE, Served, run};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

const DELAY: Duration = Duration::from_millis(30);

/// A server that answers each connection with what it was sent, byte by byte as it comes.
fn echo() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || {
                let (mut from, mut to) = (stream.try_clone().unwrap(), stream);
                let _ = std::io::copy(&mut from, &mut to);
            });
        }
    });
    address
}

fn proxy(to: &str) -> (Served, String) {
    let served = Served::start(&["fault-proxy", "--to", to, "--latency", "30ms"]);
    let address = served.url.trim_start_matches("http://").to_owned();
    (served, address)
}

#[test]
fn every_round_trip_takes_at_least_twice_the_delay() {
    let (_proxy, address) = proxy(&echo());
    let mut stream = TcpStream::connect(address).unwrap();
    for _ in 0..3 {
        let begun = Instant::now();
        stream.write_all(b"ping").unwrap();
        let mut answer = [0; 4];
        stream.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"ping");
        assert!(begun.elapsed() >= 2 * DELAY);
    }
}

#[test]
fn bytes_keep_their_order_and_none_is_lost() {
    let (_proxy, address) = proxy(&echo());
    let sent: Vec<u8> = (0..3_000_000_u32).map(|n| (n % 251) as u8).collect();
    let mut stream = TcpStream::connect(address).unwrap();
    let mut writing = stream.try_clone().unwrap();
    let copy = sent.clone();
    let writer = thread::spawn(move || {
        writing.write_all(&copy).unwrap();
        writing.shutdown(Shutdown::Write).unwrap();
    });
    let mut got = Vec::new();
    stream.read_to_end(&mut got).unwrap();
    writer.join().unwrap();
    assert!(got == sent, "{} of {} bytes", got.len(), sent.len());
}

#[test]
fn many_connections_are_delayed_side_by_side_and_not_one_after_another() {
    const CONNECTIONS: usize = 100;
    let (_proxy, address) = proxy(&echo());
    let begun = Instant::now();
    let mut streams: Vec<_> = (0..CONNECTIONS)
        .map(|_| TcpStream::connect(&address).unwrap())
        .collect();
    for (number, stream) in streams.iter_mut().enumerate() {
        stream.write_all(&[number as u8]).unwrap();
    }
    for (number, stream) in streams.iter_mut().enumerate() {
        let mut answer = [0];
        stream.read_exact(&mut answer).unwrap();
        assert_eq!(answer[0], number as u8);
    }
    // One after another they would take 6 s.
    assert!(begun.elapsed() < 2 * DELAY * CONNECTIONS as u32 / 2);
}

#[test]
fn a_caller_is_hung_up_on_when_nobody_is_behind_the_proxy() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap();
    let nobody = closed.local_addr().unwrap().to_string();
    drop(closed);
    let (_proxy, address) = proxy(&nobody);
    let mut stream = TcpStream::connect(address).unwrap();
    assert_eq!(stream.read(&mut [0]).unwrap_or(0), 0);
}

#[test]
fn a_delay_without_a_unit_is_refused_in_one_line() {
    let output = run(&["fault-proxy", "--to", "127.0.0.1:1", "--latency", "25"]);
    assert_eq!(output.status.code(), Some(2));
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(told.contains("--latency"), "{told}");
}

/// A proxy in front of a target, and a connection to its admin port.
struct Rig {
    _target: Served,
    proxy: Child,
    address: String,
    admin: BufReader<TcpStream>,
}

impl Drop for Rig {
    fn drop(&mut self) {
        let _ = self.proxy.kill();
        let _ = self.proxy.wait();
    }
}

impl Rig {
    fn start() -> Self {
        let target = Served::start(&["target", "--service-time", "fixed:1us", "--workers", "16"]);
        let to = target.url.trim_start_matches("http://").to_owned();
        let mut proxy = Command::new(ENGINE)
            .args(["fault-proxy", "--to", &to])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(proxy.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let ready: Value = serde_json::from_str(&line).unwrap();
        let at = |name: &str| ready["ready"][name].as_str().unwrap().to_owned();
        let admin = BufReader::new(TcpStream::connect(at("admin")).unwrap());
        Self {
            _target: target,
            proxy,
            address: at("listening"),
            admin,
        }
    }

    fn tell(&mut self, order: &Value) -> Value {
        writeln!(self.admin.get_mut(), "{order}").unwrap();
        let mut line = String::new();
        self.admin.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    fn begin(&mut self, fault: Value) {
        let answer = self.tell(&json!({"begin": {"name": "it", "fault": fault}}));
        assert!(answer["at_ns"].is_u64(), "{answer}");
    }

    /// Ends the fault; what it did.
    fn end(&mut self) -> Value {
        let answer = self.tell(&json!({"end": {"name": "it"}}));
        assert!(answer["at_ns"].is_u64(), "{answer}");
        answer["deeds"].clone()
    }

    fn caller(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        stream
    }
}

fn send(stream: &mut TcpStream, path: &str) -> std::io::Result<()> {
    write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\n\r\n")
}

/// The status of an answer that is read to its end.
fn hear(stream: &mut TcpStream) -> std::io::Result<u16> {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head)? == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
    }
    let length = head.to_ascii_lowercase();
    let length = length
        .split("content-length: ")
        .nth(1)
        .and_then(|rest| rest.lines().next())
        .unwrap();
    let mut body = vec![0; length.trim().parse().unwrap()];
    reader.read_exact(&mut body)?;
    Ok(head.split(' ').nth(1).unwrap().parse().unwrap())
}

fn ask(stream: &mut TcpStream, path: &str) -> std::io::Result<u16> {
    send(stream, path)?;
    hear(stream)
}

#[test]
fn aborted_requests_are_answered_at_once_and_their_connection_goes_on() {
    let mut rig = Rig::start();
    let mut caller = rig.caller();
    assert_eq!(ask(&mut caller, "/bytes/10").unwrap(), 200);
    rig.begin(json!({"abort": {"percentage": 100, "status": 503}}));
    for _ in 0..5 {
        assert_eq!(ask(&mut caller, "/bytes/10").unwrap(), 503);
    }
    write!(
        caller,
        "POST /anything HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhe"
    )
    .unwrap();
    thread::sleep(Duration::from_millis(20));
    write!(caller, "llo").unwrap();
    assert_eq!(hear(&mut caller).unwrap(), 503);
    assert_eq!(rig.end()["requests"], 6);
    assert_eq!(ask(&mut caller, "/bytes/10").unwrap(), 200);
}

#[test]
fn a_share_of_requests_is_aborted_the_same_ones_for_a_seed() {
    let statuses = || {
        let mut rig = Rig::start();
        rig.begin(json!({"abort": {"percentage": 30, "status": 500}}));
        let mut caller = rig.caller();
        let found: Vec<u16> = (0..300).map(|_| ask(&mut caller, "/bytes/1").unwrap()).collect();
        found
    };
    let (one, other) = (statuses(), statuses());
    let aborted = one.iter().filter(|status| **status == 500).count();
    assert!((60..120).contains(&aborted), "{aborted}");
    assert_eq!(one, other);
}

#[test]
fn a_delay_of_microseconds_is_never_shorter_and_what_it_is_longer_is_told() {
    let mut rig = Rig::start();
    let mut caller = rig.caller();
    rig.begin(json!({"delay": {"percentage": 100, "duration_us": 2_750}}));
    for _ in 0..50 {
        let begun = Instant::now();
        assert_eq!(ask(&mut caller, "/bytes/10").unwrap(), 200);
        assert!(begun.elapsed() >= Duration::from_micros(2_750));
    }
    let deeds = rig.end();
    assert_eq!(deeds["requests"], 50);
    let (mean, max) = (
        deeds["late"]["mean_ns"].as_u64().unwrap(),
        deeds["late"]["max_ns"].as_u64().unwrap(),
    );
    assert!(mean <= max && max > 0, "{deeds}");
}

#[test]
fn a_reset_comes_in_the_middle_of_the_answer() {
    let mut rig = Rig::start();
    let mut caller = rig.caller();
    rig.begin(json!({"reset": {"percentage": 100}}));
    send(&mut caller, "/bytes/1000").unwrap();
    let mut got = Vec::new();
    let error = caller.read_to_end(&mut got).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    assert!(
        got.starts_with(b"HTTP/1.1 200") && got.len() < 1000,
        "{} bytes",
        got.len()
    );
    assert_eq!(rig.end()["requests"], 1);
    assert_eq!(ask(&mut rig.caller(), "/bytes/10").unwrap(), 200);
}

#[test]
fn nobody_listens_while_connections_are_refused() {
    let mut rig = Rig::start();
    let mut open = rig.caller();
    assert_eq!(ask(&mut open, "/bytes/10").unwrap(), 200);
    rig.begin(json!({"refuse": {}}));
    assert_eq!(
        open.read(&mut [0]).unwrap_err().kind(),
        ErrorKind::ConnectionReset
    );
    for _ in 0..3 {
        assert_eq!(
            TcpStream::connect(&rig.address).unwrap_err().kind(),
            ErrorKind::ConnectionRefused
        );
    }
    rig.end();
    assert_eq!(ask(&mut rig.caller(), "/bytes/10").unwrap(), 200);
}

#[test]
fn a_stalled_request_is_never_answered_and_reset_at_the_end() {
    let mut rig = Rig::start();
    rig.begin(json!({"stall": {"percentage": 100}}));
    let mut caller = rig.caller();
    send(&mut caller, "/bytes/10").unwrap();
    caller.set_read_timeout(Some(Duration::from_millis(150))).unwrap();
    assert_eq!(caller.read(&mut [0]).unwrap_err().kind(), ErrorKind::WouldBlock);
    assert_eq!(rig.end()["requests"], 1);
    caller.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    assert_eq!(
        caller.read(&mut [0]).unwrap_err().kind(),
        ErrorKind::ConnectionReset
    );
    assert_eq!(ask(&mut rig.caller(), "/bytes/10").unwrap(), 200);
}

#[test]
fn a_slow_way_passes_no_more_than_its_bandwidth_and_is_fast_again_afterwards() {
    let mut rig = Rig::start();
    rig.begin(json!({"slow": {"bytes_per_s": 20_000}}));
    let mut caller = rig.caller();
    let begun = Instant::now();
    assert_eq!(ask(&mut caller, "/bytes/8000").unwrap(), 200);
    // 8,000 bytes at 20,000 per second, but for the first sips.
    assert!(
        begun.elapsed() >= Duration::from_millis(380),
        "{:?}",
        begun.elapsed()
    );
    send(&mut caller, "/bytes/8000000").unwrap();
    thread::sleep(Duration::from_millis(50));
    rig.end();
    assert_eq!(hear(&mut caller).unwrap(), 200);
}

#[test]
fn nothing_passes_a_partition_and_all_of_it_arrives_when_that_is_over() {
    let mut rig = Rig::start();
    let mut open = rig.caller();
    assert_eq!(ask(&mut open, "/bytes/10").unwrap(), 200);
    rig.begin(json!({"partition": {}}));
    let mut new = rig.caller();
    for caller in [&mut open, &mut new] {
        send(caller, "/bytes/10").unwrap();
        caller.set_read_timeout(Some(Duration::from_millis(150))).unwrap();
        assert_eq!(caller.read(&mut [0]).unwrap_err().kind(), ErrorKind::WouldBlock);
        caller.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    }
    rig.end();
    for caller in [&mut open, &mut new] {
        assert_eq!(hear(caller).unwrap(), 200);
    }
}

#[test]
fn faults_end_when_nobody_gives_orders_any_more() {
    let mut rig = Rig::start();
    rig.begin(json!({"refuse": {}}));
    assert!(TcpStream::connect(&rig.address).is_err());
    rig.admin.get_mut().shutdown(Shutdown::Both).unwrap();
    common::eventually("callers are let in", || TcpStream::connect(&rig.address).is_ok());
    assert_eq!(ask(&mut rig.caller(), "/bytes/10").unwrap(), 200);
}

#[test]
fn a_wrong_order_is_answered_with_what_is_wrong() {
    let mut rig = Rig::start();
    for (order, word) in [
        (
            json!({"begin": {"name": "a", "fault": {"explode": {}}}}),
            "explode",
        ),
        (
            json!({"begin": {"name": "a", "fault": {"stall": {"percentage": 200}}}}),
            "200",
        ),
        (json!({"end": {"name": "a"}}), "no fault named a"),
    ] {
        let answer = rig.tell(&order);
        assert!(answer["error"].as_str().unwrap().contains(word), "{answer}");
    }
}
