//! The three calls, as a caller sees them on the wire.

use super::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// Reads any whole number as a round, and sends that many lines.
struct Counter;

impl Client for Counter {
    type Round = u64;

    fn description(&self) -> Value {
        json!({"name": "counter"})
    }

    fn read(&self, body: &[u8]) -> Result<u64, Vec<Value>> {
        serde_json::from_slice(body).map_err(|error| vec![json!({"message": error.to_string()})])
    }

    fn start(&self, round: u64, stream: Stream, place: Place) -> Result<(), String> {
        if round == 99 {
            return Err("no round of 99".to_owned());
        }
        spawn_local(async move {
            for number in 0..round {
                stream.send(format!("{number}\n"), 1);
            }
            if round == 7 {
                stream.left().await;
            }
            stream.end("end\n", place);
        });
        Ok(())
    }
}

async fn connected(server: Rc<Server<Counter>>) -> TcpStream {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    spawn_local(accept(listener, server));
    TcpStream::connect(address).await.unwrap()
}

async fn asked_of(server: &Rc<Server<Counter>>, call: &str, body: &str) -> String {
    let mut stream = connected(Rc::clone(server)).await;
    let length = body.len();
    let request =
        format!("{call} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

fn asked(call: &str, body: &str) -> String {
    in_a_thread(async { asked_of(&server(), call, body).await })
}

fn server() -> Rc<Server<Counter>> {
    Rc::new(Server::new(Counter))
}

fn in_a_thread<T>(what: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    LocalSet::new().block_on(&runtime.unwrap(), what)
}

#[test]
fn each_call_is_answered_and_any_other_is_named() {
    for (call, body, status, part) in [
        ("GET /client", "", "200", r#"{"name":"counter"}"#),
        ("POST /check", "3", "200", r#"{"problems":[]}"#),
        ("POST /check", "x", "200", "expected value"),
        ("POST /rounds", "x", "422", "expected value"),
        ("POST /rounds", "99", "500", "no round of 99"),
        ("POST /client", "", "405", "allow: GET"),
        ("GET /rounds", "", "405", "allow: POST"),
        (
            "GET /round",
            "",
            "404",
            "no /round here: GET /client, POST /check, POST /rounds",
        ),
    ] {
        let answer = asked(call, body);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{answer}");
        assert!(answer.contains(part), "{call} {body}: {answer}");
    }
}

#[test]
fn a_round_is_streamed_line_by_line_and_ends_with_its_last_one() {
    let answer = asked("POST /rounds", "2");
    assert!(answer.contains("content-type: application/x-ndjson"), "{answer}");
    let chunks = "2\r\n0\n\r\n2\r\n1\n\r\n4\r\nend\n\r\n0\r\n\r\n";
    assert!(answer.ends_with(chunks), "{answer}");
}

#[test]
fn a_body_beyond_the_bound_is_refused() {
    let answer = asked("POST /check", &" ".repeat(MOST_BYTES + 1));
    assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
}

#[test]
fn a_second_round_is_refused_until_the_first_is_over_or_its_reader_has_left() {
    in_a_thread(async {
        let server = server();
        let mut first = connected(Rc::clone(&server)).await;
        let request = "POST /rounds HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\n\r\n7";
        first.write_all(request.as_bytes()).await.unwrap();
        first.read_u8().await.unwrap();
        let refused = asked_of(&server, "POST /rounds", "1").await;
        assert!(refused.starts_with("HTTP/1.1 409"), "{refused}");
        drop(first);
        while asked_of(&server, "POST /rounds", "1")
            .await
            .starts_with("HTTP/1.1 409")
        {}
    });
}

#[test]
fn an_address_that_is_taken_is_said_in_a_sentence() {
    let taken = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = taken.local_addr().unwrap().port();
    let said = serve(Counter, [127, 0, 0, 1].into(), port).unwrap_err();
    assert!(
        said.starts_with(&format!("cannot listen on port {port}: ")),
        "{said}"
    );
}
