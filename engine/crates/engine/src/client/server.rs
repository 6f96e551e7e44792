//! The HTTP side of the contract.

use bytes::Bytes;
use http_body_util::{BodyExt, Either, Full, Limited};
use hyper::body::{Body, Frame, Incoming};
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use patternbench_load::Problem;
use patternbench_load::contract::{self, Audience, Round};
use rustix::process::{Resource, getrlimit};
use serde_json::{Value, json};
use std::convert::Infallible;
use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

/// The most bytes of a round: 16 MB, most of it the body of its request.
const MOST_BYTES: usize = 16 << 20;

/// Serves the client contract until the process is ended.
///
/// Prints `{"listening": "host:port"}` on standard output when it is ready.
///
/// # Errors
/// One sentence, when the address cannot be listened on.
pub fn serve(host: IpAddr, port: u16) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| format!("cannot start the client: {error}"))?;
    runtime.block_on(async {
        let cannot = |error| format!("cannot listen on {}: {error}", SocketAddr::new(host, port));
        let listener = TcpListener::bind((host, port)).await.map_err(cannot)?;
        let local = listener.local_addr().map_err(cannot)?;
        announce(local).map_err(|error| format!("cannot say where the client listens: {error}"))?;
        accept(listener).await;
        Ok(())
    })
}

fn announce(address: SocketAddr) -> io::Result<()> {
    writeln!(io::stdout(), "{}", json!({"listening": address.to_string()}))
}

async fn accept(listener: TcpListener) {
    let busy = Arc::new(AtomicBool::new(false));
    loop {
        match listener.accept().await {
            Ok((stream, _)) => drop(tokio::spawn(converse(stream, Arc::clone(&busy)))),
            // Out of file descriptors, or the caller has gone: the next one may fare better.
            Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
}

async fn converse(stream: TcpStream, busy: Arc<AtomicBool>) {
    let _ = stream.set_nodelay(true);
    let service = service_fn(|request| answer(request, Arc::clone(&busy)));
    // A caller that goes away or breaks the protocol is its own problem.
    let _ = hyper::server::conn::http1::Builder::new()
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

type Answer = Response<Either<Full<Bytes>, Lines>>;

async fn answer(request: Request<Incoming>, busy: Arc<AtomicBool>) -> Result<Answer, Infallible> {
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    Ok(match (path.as_str(), method) {
        ("/client", Method::GET) => plain(StatusCode::OK, &description()),
        ("/check", Method::POST) => check(request).await,
        ("/rounds", Method::POST) => start(request, busy).await,
        ("/client", _) => not_allowed("GET"),
        ("/check" | "/rounds", _) => not_allowed("POST"),
        _ => failure(
            StatusCode::NOT_FOUND,
            &format!("no {path} here: GET /client, POST /check, POST /rounds"),
        ),
    })
}

/// As many users as there may be connections, with some file descriptors left for the client itself.
fn most_users() -> u64 {
    const OWN_FILES: u64 = 64;
    const MOST: u64 = 1_000_000;
    let files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    files.saturating_sub(OWN_FILES).clamp(1, MOST)
}

fn description() -> Value {
    json!({
        "contract": 1,
        "name": "native",
        "version": env!("CARGO_PKG_VERSION"),
        "language": concat!("Rust ", env!("CARGO_PKG_RUST_VERSION"), " or later"),
        "library": {"name": "patternbench-policies", "version": env!("CARGO_PKG_VERSION")},
        "strategies": ["baseline", "retry", "circuit_breaker"],
    })
}

async fn check(request: Request<Incoming>) -> Answer {
    match read(request).await {
        Ok(text) => plain(
            StatusCode::OK,
            &problem_list(contract::read(&text, most_users()).err().unwrap_or_default()),
        ),
        Err(answer) => answer,
    }
}

async fn start(request: Request<Incoming>, busy: Arc<AtomicBool>) -> Answer {
    let text = match read(request).await {
        Ok(text) => text,
        Err(answer) => return answer,
    };
    match contract::read(&text, most_users()) {
        Err(problems) => plain(StatusCode::UNPROCESSABLE_ENTITY, &problem_list(problems)),
        Ok(round) if !busy.swap(true, Ordering::AcqRel) => run(round, busy),
        Ok(_) => failure(
            StatusCode::CONFLICT,
            "another round runs: wait for its end, or close its connection",
        ),
    }
}

/// Runs the round in a thread of its own; the place is free again when that ends, however it does.
fn run(round: Round, busy: Arc<AtomicBool>) -> Answer {
    let (sender, receiver) = mpsc::unbounded_channel();
    let waiting = Arc::new(AtomicUsize::new(0));
    let lines = Lines {
        receiver,
        waiting: waiting.clone(),
    };
    let place = Place(busy);
    let thread = std::thread::Builder::new().name("round".into()).spawn(move || {
        let stream = Stream { sender, waiting };
        let last = contract::run(round, &stream);
        // Free before the last line is out: who has read it may start the next round at once.
        drop(place);
        stream.send(last, 0);
    });
    match thread {
        Ok(_) => stream(lines),
        Err(error) => failure(
            StatusCode::INTERNAL_SERVER_ERROR,
            &format!("cannot start a round: {error}"),
        ),
    }
}

struct Place(Arc<AtomicBool>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

async fn read(request: Request<Incoming>) -> Result<Bytes, Answer> {
    let body = Limited::new(request.into_body(), MOST_BYTES).collect().await;
    let too_long = || {
        failure(
            StatusCode::PAYLOAD_TOO_LARGE,
            &format!("a round of at most {MOST_BYTES} bytes"),
        )
    };
    body.map(|body| body.to_bytes()).map_err(|_| too_long())
}

fn problem_list(problems: Vec<Problem>) -> Value {
    json!({"problems": problems.iter().map(as_json).collect::<Vec<_>>()})
}

/// A problem as the contract has it: its value as JSON, not as a text of it.
fn as_json(problem: &Problem) -> Value {
    let Problem {
        path,
        value,
        message,
        allowed,
    } = problem;
    let value: Value = serde_json::from_str(value).unwrap_or_else(|_| json!(value));
    json!({"path": path, "value": value, "message": message, "allowed": allowed})
}

fn plain(status: StatusCode, value: &Value) -> Answer {
    let mut answer = Response::new(Either::Left(Full::new(Bytes::from(value.to_string()))));
    *answer.status_mut() = status;
    answer
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    answer
}

fn failure(status: StatusCode, message: &str) -> Answer {
    plain(status, &json!({"error": message}))
}

fn not_allowed(method: &'static str) -> Answer {
    let mut answer = failure(StatusCode::METHOD_NOT_ALLOWED, &format!("only {method} here"));
    answer
        .headers_mut()
        .insert(ALLOW, HeaderValue::from_static(method));
    answer
}

fn stream(lines: Lines) -> Answer {
    let mut answer = Response::new(Either::Right(lines));
    answer
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("application/x-ndjson"));
    answer
}

/// The end of the stream that the round writes to. It never waits: a round that waits for its reader would lie about times.
#[derive(Clone)]
struct Stream {
    sender: mpsc::UnboundedSender<(String, usize)>,
    waiting: Arc<AtomicUsize>,
}

impl Audience for Stream {
    fn send(&self, line: String, rows: usize) {
        self.waiting.fetch_add(rows, Ordering::Relaxed);
        // An audience that has left is noticed when the round looks for it.
        let _ = self.sender.send((line, rows));
    }

    fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    fn has_left(&self) -> bool {
        self.sender.is_closed()
    }
}

/// The end of the stream that is sent out. It is dropped when the connection closes, which the round notices.
struct Lines {
    receiver: mpsc::UnboundedReceiver<(String, usize)>,
    waiting: Arc<AtomicUsize>,
}

impl Body for Lines {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let next = self.receiver.poll_recv(cx);
        next.map(|line| {
            line.map(|(line, rows)| {
                self.waiting.fetch_sub(rows, Ordering::Relaxed);
                Ok(Frame::data(Bytes::from(line)))
            })
        })
    }
}
