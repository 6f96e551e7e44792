//! The delaying proxy holds bytes, keeps their order, and passes ends on.

mod common;

use common::{Served, run};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
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
    let served = Served::start(&["delay-proxy", "--to", to, "--delay", "30ms"]);
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
    let output = run(&["delay-proxy", "--to", "127.0.0.1:1", "--delay", "25"]);
    assert_eq!(output.status.code(), Some(2));
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(told.contains("--delay"), "{told}");
}
