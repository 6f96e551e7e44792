//! Connections against servers that follow a script, over real sockets.

use patternbench_wire::{
    Answer, Connection, Expected, Failure, Limits, Poller, Progress, Readiness, Target, TlsSettings,
};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Serves connections one after another: for each request on one, the next piece of text; then closes it.
fn serve<S: Read + Write>(mut stream: S, answers: &[&str]) {
    let mut buffer = [0; 4096];
    for answer in answers {
        let mut request = Vec::new();
        while !request.ends_with(b"\r\n\r\n") {
            match stream.read(&mut buffer) {
                Ok(0) | Err(_) => return,
                Ok(read) => request.extend_from_slice(&buffer[..read]),
            }
        }
        stream.write_all(answer.as_bytes()).unwrap();
    }
}

fn tcp(answers: &'static [&'static str]) -> Target {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || serve(listener.accept().unwrap().0, answers));
    Target::new(&format!("http://{address}"), &TlsSettings::default()).unwrap()
}

/// Drives a connection until something has come of its exchange.
struct Driver {
    connection: Connection,
    poller: Poller,
    buffer: Vec<u8>,
    /// How often the poller reported that there is more to read.
    turns: u32,
}

impl Driver {
    fn new(target: &Target) -> Self {
        let connection = Connection::open(target, Limits::default()).unwrap();
        let poller = Poller::new().unwrap();
        poller.add(&connection, 7).unwrap();
        Self {
            connection,
            poller,
            buffer: vec![0; 16],
            turns: 0,
        }
    }

    fn exchange(&mut self) -> Result<Progress, Failure> {
        self.connection.send(REQUEST, Expected::default())?;
        self.until_something()
    }

    /// Reads in as many turns as it takes.
    fn go_on(&mut self, readiness: Readiness) -> Result<Progress, Failure> {
        loop {
            match self.connection.ready(readiness, &mut self.buffer)? {
                Progress::More => self.turns += 1,
                progress => return Ok(progress),
            }
        }
    }

    /// Waits until there is something to read, and leaves it there.
    fn until_readable(&mut self) -> Readiness {
        loop {
            let ready = self.poller.wait(Duration::from_secs(5)).unwrap();
            let mut readable = ready.filter(|readiness| readiness.readable);
            if let Some(readiness) = readable.next() {
                return readiness;
            }
        }
    }

    fn until_something(&mut self) -> Result<Progress, Failure> {
        for _ in 0..100 {
            let ready: Vec<_> = self.poller.wait(Duration::from_secs(5)).unwrap().collect();
            assert!(!ready.is_empty(), "nothing came for five seconds");
            for readiness in ready {
                assert_eq!(readiness.key, 7);
                match self.go_on(readiness)? {
                    Progress::Waiting | Progress::Begun => {}
                    progress => return Ok(progress),
                }
            }
        }
        panic!("a hundred events and no answer")
    }
}

const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n";
const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 25\r\n\r\n0123456789012345678901234";

#[test]
fn an_answer_that_lies_on_a_new_connection_before_the_request_is_no_answer_to_it() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let mut driver = Driver::new(&Target::new(&url, &TlsSettings::default()).unwrap());
    let mut stream = listener.accept().unwrap().0;
    stream.write_all(OK.as_bytes()).unwrap();
    // The bytes are there before the client looks: loopback delivers them with the call that sends them.
    assert_eq!(driver.exchange(), Err(Failure::Unasked));
}

#[test]
fn an_answer_came_when_the_kernel_had_it_however_late_it_is_read() {
    let mut driver = Driver::new(&tcp(&[OK; 1000]));
    driver.connection.stamp();
    // The kernel begins to remember shortly after it was asked.
    let begun = (0..999).any(|_| {
        driver.exchange().unwrap();
        driver.connection.came().is_some()
    });
    assert!(begun, "the kernel never told when an answer came");
    let sent = SystemTime::now();
    driver.connection.send(REQUEST, Expected::default()).unwrap();
    let ready = driver.until_readable();
    let there = SystemTime::now();
    while SystemTime::now() == there {}
    assert!(matches!(driver.go_on(ready), Ok(Progress::Done(_))));
    let came = UNIX_EPOCH + driver.connection.came().unwrap();
    assert!(sent <= came && came <= there, "{sent:?} {came:?} {there:?}");
}

#[test]
fn a_connection_carries_one_request_after_another_and_then_notices_its_end() {
    let mut driver = Driver::new(&tcp(&[OK, OK]));
    let answer = Answer {
        status: 200,
        bytes: 25,
        keep_alive: true,
    };
    assert_eq!(driver.exchange(), Ok(Progress::Done(answer)));
    // The server closes after its last answer; that can be seen with the answer or after it.
    match driver.exchange() {
        Ok(Progress::Done(Answer { keep_alive: true, .. })) => {
            assert_eq!(driver.until_something(), Ok(Progress::Gone))
        }
        other => assert_eq!(
            other,
            Ok(Progress::Done(Answer {
                keep_alive: false,
                ..answer
            }))
        ),
    }
}

#[test]
fn an_answer_that_ends_with_the_connection_is_complete() {
    let mut driver = Driver::new(&tcp(&[
        "HTTP/1.0 200 OK\r\n\r\nall that there is to say about it",
    ]));
    let answer = Answer {
        status: 200,
        bytes: 33,
        keep_alive: false,
    };
    assert_eq!(driver.exchange(), Ok(Progress::Done(answer)));
}

#[test]
fn a_long_answer_is_read_in_turns_so_that_others_have_theirs() {
    let body: &'static str = "x".repeat(10_000).leak();
    let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: 10000\r\n\r\n{body}").leak();
    let answers: &'static [&'static str] = vec![&*answer].leak();
    let mut driver = Driver::new(&tcp(answers));
    assert!(matches!(
        driver.exchange(),
        Ok(Progress::Done(Answer { bytes: 10_000, .. }))
    ));
    // Sixteen reads of sixteen bytes are one turn; what comes in several pieces may take less.
    assert!(driver.turns > 10, "{}", driver.turns);
}

#[test]
fn a_server_that_hangs_up_in_the_middle_is_a_failure() {
    let mut driver = Driver::new(&tcp(&["HTTP/1.1 200 OK\r\nContent-Length: 25\r\n\r\n0123"]));
    assert_eq!(driver.exchange(), Err(Failure::Closed));
}

#[test]
fn a_port_where_nobody_listens_refuses() {
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let target = Target::new(&format!("http://{address}"), &TlsSettings::default()).unwrap();
    assert_eq!(Driver::new(&target).exchange(), Err(Failure::Refused));
}

#[test]
fn a_unix_socket_is_spoken_to_alike() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s");
    let listener = UnixListener::bind(&path).unwrap();
    std::thread::spawn(move || serve(listener.accept().unwrap().0, &[OK, OK]));
    let target = Target::new(&format!("unix:{}", path.display()), &TlsSettings::default()).unwrap();
    assert!(matches!(
        Driver::new(&target).exchange(),
        Ok(Progress::Done(Answer { status: 200, .. }))
    ));
}

/// A TLS server for `localhost`, and the PEM text of the certificate that it shows.
fn tls(answers: &'static [&'static str]) -> (std::net::SocketAddr, String) {
    tls_as(rcgen::IsCa::NoCa, answers)
}

/// The same with a certificate that says whether it is an authority.
fn tls_as(is_ca: rcgen::IsCa, answers: &'static [&'static str]) -> (std::net::SocketAddr, String) {
    let signing = rcgen::KeyPair::generate().unwrap();
    let mut parameters = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    parameters.is_ca = is_ca;
    let certificate = parameters.self_signed(&signing).unwrap();
    let key = rustls_pki_types::PrivateKeyDer::try_from(signing.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)
        .unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let tls = rustls::ServerConnection::new(Arc::new(config)).unwrap();
        serve(
            rustls::StreamOwned::new(tls, listener.accept().unwrap().0),
            answers,
        );
    });
    (address, certificate.pem())
}

#[test]
fn tls_with_a_custom_certificate_authority_carries_requests() {
    let (address, pem) = tls(&[OK, OK, OK]);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ca.pem");
    std::fs::write(&file, pem).unwrap();
    let settings = TlsSettings {
        ca_file: Some(file),
        server_name: Some("localhost".to_owned()),
        ..TlsSettings::default()
    };
    let mut driver = Driver::new(&Target::new(&format!("https://{address}"), &settings).unwrap());
    for _ in 0..2 {
        assert!(matches!(
            driver.exchange(),
            Ok(Progress::Done(Answer {
                status: 200,
                bytes: 25,
                keep_alive: true
            }))
        ));
    }
}

#[test]
fn a_certificate_that_signed_itself_is_trusted_when_it_is_named_and_for_its_name_only() {
    let authority = || rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let (address, pem) = tls_as(authority(), &[OK]);
    let (other, _) = tls_as(authority(), &[OK]);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("own.pem");
    std::fs::write(&file, pem).unwrap();
    let ask = |address, name: &str| {
        let settings = TlsSettings {
            ca_file: Some(file.clone()),
            server_name: Some(name.to_owned()),
            verify: true,
        };
        let mut driver = Driver::new(&Target::new(&format!("https://{address}"), &settings).unwrap());
        let answer = driver.exchange();
        (
            answer.is_ok(),
            driver.connection.reason().unwrap_or_default().to_owned(),
        )
    };
    let (_, reason) = ask(other, "localhost");
    assert!(reason.contains("invalid peer certificate"), "{reason}");
    assert_eq!(ask(address, "localhost"), (true, String::new()));
    let (again, pem) = tls_as(authority(), &[OK]);
    std::fs::write(&file, pem).unwrap();
    let (good, reason) = ask(again, "elsewhere");
    assert!(!good && reason.contains("elsewhere"), "{reason}");
}

#[test]
fn a_certificate_that_nobody_vouches_for_is_refused_unless_verification_is_off() {
    let (trusted, pem) = tls(&[OK]);
    drop(std::net::TcpStream::connect(trusted));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("other.pem");
    std::fs::write(&file, pem).unwrap();
    let settings = TlsSettings {
        ca_file: Some(file),
        server_name: Some("localhost".to_owned()),
        verify: true,
    };
    let (address, _) = tls(&[OK]);
    let target = Target::new(&format!("https://{address}"), &settings).unwrap();
    assert_eq!(Driver::new(&target).exchange(), Err(Failure::Tls));
    let (address, _) = tls(&[OK]);
    let target = Target::new(
        &format!("https://{address}"),
        &TlsSettings {
            verify: false,
            ..settings
        },
    )
    .unwrap();
    assert!(matches!(
        Driver::new(&target).exchange(),
        Ok(Progress::Done(Answer { status: 200, .. }))
    ));
}

#[test]
fn a_server_that_does_not_speak_tls_is_a_failure_of_tls() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let mut stream = listener.accept().unwrap().0;
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        let _ = stream.read(&mut [0; 1024]);
    });
    let settings = TlsSettings {
        verify: false,
        ..TlsSettings::default()
    };
    let target = Target::new(&format!("https://{address}"), &settings).unwrap();
    assert_eq!(Driver::new(&target).exchange(), Err(Failure::Tls));
}

#[test]
fn a_ca_file_without_certificates_is_a_problem_before_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("empty.pem");
    std::fs::write(&file, "nothing\n").unwrap();
    let settings = TlsSettings {
        ca_file: Some(file),
        ..TlsSettings::default()
    };
    assert!(
        Target::new("https://127.0.0.1:1", &settings)
            .err()
            .unwrap()
            .message
            .contains("no certificate")
    );
}
