//! The HTTP side: reads requests, sends them through the queue, answers.

use crate::log::{Arrival, Ending, Entry, Log};
use crate::queue::{Counts, Queue};
use crate::route::{MOST_BYTES, Refusal, Route, route};
use crate::service::Dice;
use crate::settings::Settings;
use crate::worker::{self, Order, Outcome, Shop};
use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Body, Incoming};
use hyper::header::{CONTENT_TYPE, HOST, RETRY_AFTER};
use hyper::http::request::Parts;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use patternbench_timing::now;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::{Rng, SeedableRng};
use serde_json::{Value, json};
use std::io::{self, Write};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

const BACKLOG: u32 = 4096;

/// Runs the target until SIGTERM or SIGINT.
///
/// Prints `{"listening": "host:port"}` on standard output when it is ready. The log is complete when this returns.
///
/// # Errors
/// One sentence: an address that cannot be listened on, a log that cannot be written, no threads.
pub fn serve(settings: &Settings) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| format!("cannot start the target: {error}"))?;
    let front = runtime.block_on(run(settings))?;
    // With the connections their entries end, so that answers on their way are in the log.
    drop(runtime);
    front.shop.log.flush();
    Ok(())
}

async fn run(settings: &Settings) -> Result<Arc<Front>, String> {
    let address = SocketAddr::new(settings.host, settings.port);
    let cannot = |error| format!("cannot listen on {address}: {error}");
    let listener = listen(address).map_err(cannot)?;
    let local = listener.local_addr().map_err(cannot)?;
    let front = Arc::new(Front::open(settings)?);
    announce(local).map_err(|error| format!("cannot say where the target listens: {error}"))?;
    tokio::select! {
        () = accept(listener, &front) => {}
        () = flush_now_and_then(&front) => {}
        result = told_to_stop() => result?,
    }
    Ok(front)
}

fn announce(address: SocketAddr) -> io::Result<()> {
    writeln!(io::stdout(), "{}", json!({"listening": address.to_string()}))
}

/// With room for thousands of callers that connect at the same moment: a full backlog costs each a second.
fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() {
        TcpSocket::new_v4()?
    } else {
        TcpSocket::new_v6()?
    };
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

async fn told_to_stop() -> Result<(), String> {
    let on = |kind| signal(kind).map_err(|error| format!("cannot listen for signals: {error}"));
    let (mut terminate, mut interrupt) = (on(SignalKind::terminate())?, on(SignalKind::interrupt())?);
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    Ok(())
}

/// So that the log of a target that is killed ends at most a second early.
async fn flush_now_and_then(front: &Front) {
    loop {
        tokio::time::sleep(Duration::from_secs(1)).await;
        front.shop.log.flush();
    }
}

async fn accept(listener: TcpListener, front: &Arc<Front>) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => drop(tokio::spawn(converse(stream, Arc::clone(front)))),
            // Out of file descriptors, or the caller has gone: the next one may fare better.
            Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
}

async fn converse(stream: TcpStream, front: Arc<Front>) {
    let _ = stream.set_nodelay(true);
    let state = Arc::new(State::default());
    let line = Line {
        stream,
        state: Arc::clone(&state),
    };
    let service = service_fn(|request| {
        let (front, state) = (Arc::clone(&front), Arc::clone(&state));
        async move {
            let (answer, entry) = front.answer(request).await;
            state.reset.store(answer.is_err(), Ordering::Relaxed);
            state.expect(entry);
            answer
        }
    });
    let mut http = hyper::server::conn::http1::Builder::new();
    // A keep-alive connection may be idle for as long as its user thinks.
    http.header_read_timeout(None);
    // A caller that goes away or breaks the protocol is its own problem.
    let _ = http.serve_connection(TokioIo::new(line), service).await;
}

/// The connection of a request is to be reset, as chance would have it.
#[derive(Debug)]
struct ConnectionReset;

impl std::fmt::Display for ConnectionReset {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the connection is reset on purpose")
    }
}

impl std::error::Error for ConnectionReset {}

type Answer = Response<Full<Bytes>>;

/// What a request comes to, and its entry in the log when it has one.
type Logged = (Result<Answer, ConnectionReset>, Option<Entry>);

struct Front {
    shop: Arc<Shop>,
    workers: usize,
    noise: Noise,
}

impl Front {
    fn open(settings: &Settings) -> Result<Self, String> {
        let dice = Dice::new(settings.seed, settings.service_time, settings.pathology.clone());
        let shop = Arc::new(Shop {
            queue: Queue::new(settings.workers, settings.queue, dice),
            log: Arc::new(Log::create(settings.log.as_deref())?),
            opened: now(),
            pause: settings.pathology.pause,
        });
        worker::start(&shop, settings.workers)?;
        Ok(Self {
            shop,
            workers: settings.workers,
            noise: Noise::new(settings.seed),
        })
    }

    async fn answer(&self, request: Request<Incoming>) -> Logged {
        let received = now();
        let (parts, body) = request.into_parts();
        let path = parts
            .uri
            .path_and_query()
            .map_or_else(|| parts.uri.path(), |path| path.as_str())
            .to_owned();
        let arrival = Arrival {
            method: parts.method.clone(),
            path,
            received,
        };
        match route(parts.uri.path()) {
            Ok(Route::Health) => (Ok(json_answer(&json!({"status": "up"}))), None),
            Ok(Route::Stats) => (
                Ok(json_answer(&stats(self.workers, self.shop.queue.counts()))),
                None,
            ),
            Ok(Route::Drop) if parts.method == Method::POST => {
                (Ok(json_answer(&self.drop_all().await)), None)
            }
            Ok(Route::Drop) => self.refuse(arrival, only_by_post()),
            Ok(route) => self.queue_up(route, arrival, parts, body).await,
            Err(refusal) => self.refuse(arrival, refusal),
        }
    }

    async fn queue_up(&self, route: Route, arrival: Arrival, parts: Parts, body: Incoming) -> Logged {
        let body = match read(body).await {
            Ok(body) => body,
            Err(refusal) => return self.refuse(arrival, refusal),
        };
        match self.serve(route, arrival).await {
            Ok((Outcome::Answer, entry)) => (Ok(self.response(route, &parts, &body)), Some(entry)),
            Ok((Outcome::GivenUp, entry)) => (Ok(too_busy()), Some(entry)),
            // Nothing is written: the entry ends here.
            Ok((Outcome::Reset, _)) => (Err(ConnectionReset), None),
            Err(entry) => (Ok(too_busy()), entry),
        }
    }

    /// Waits for a worker to finish the request; the error is the entry of one for which the queue had no room.
    async fn serve(&self, route: Route, arrival: Arrival) -> Result<(Outcome, Entry), Option<Entry>> {
        let (reply, outcome) = oneshot::channel();
        let order = Order {
            arrival,
            status: status_of(route).as_u16(),
            reply,
        };
        let adjust = |mut work: crate::service::Work| {
            if let Route::Delay(delay) = route {
                work.service = delay;
            }
            work
        };
        if let Err((id, order)) = self.shop.queue.push(adjust, order) {
            return Err(Some(self.unserved(
                id,
                order.arrival,
                StatusCode::SERVICE_UNAVAILABLE,
            )));
        }
        outcome.await.map_err(|_| None)
    }

    /// Gives up all that it was asked, and answers once no worker is busy with any of it.
    ///
    /// A request of a caller who has left may still be on its way here: so it looks again until nothing is left.
    async fn drop_all(&self) -> Value {
        let mut dropped = self.give_up();
        while self.shop.queue.counts().serving > 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
            dropped += self.give_up();
        }
        json!({"dropped": dropped})
    }

    /// Gives up what waits and what is being served; how many waited.
    fn give_up(&self) -> usize {
        let waiting = self.shop.queue.clear();
        let count = waiting.len();
        for job in waiting {
            let Order { arrival, reply, .. } = job.payload;
            let entry = self.unserved(job.id, arrival, StatusCode::SERVICE_UNAVAILABLE);
            // Who has left does not hear it: then the entry ends here.
            let _ = reply.send((Outcome::GivenUp, entry));
        }
        count
    }

    fn response(&self, route: Route, parts: &Parts, body: &Bytes) -> Answer {
        match route {
            Route::Bytes(n) => with_type("application/octet-stream", self.noise.take(n)),
            Route::Anything => json_answer(&echo(parts, body)),
            other => empty(status_of(other)),
        }
    }

    fn refuse(&self, arrival: Arrival, Refusal(status, message): Refusal) -> Logged {
        let entry = self.unserved(self.shop.queue.pass_by(), arrival, status);
        let mut answer = json_answer(&json!({"error": message}));
        *answer.status_mut() = status;
        (Ok(answer), Some(entry))
    }

    fn unserved(&self, id: u64, arrival: Arrival, status: StatusCode) -> Entry {
        let ending = Ending {
            started: None,
            finished: now(),
            status: status.as_u16(),
        };
        Entry::new(&self.shop.log, id, arrival, ending)
    }
}

fn only_by_post() -> Refusal {
    Refusal(StatusCode::METHOD_NOT_ALLOWED, "/drop: only by POST".into())
}

fn status_of(route: Route) -> StatusCode {
    match route {
        Route::Status(code) => code,
        _ => StatusCode::OK,
    }
}

async fn read(body: Incoming) -> Result<Bytes, Refusal> {
    if body.is_end_stream() {
        return Ok(Bytes::new());
    }
    let body = Limited::new(body, MOST_BYTES).collect().await;
    let too_long = || {
        Refusal(
            StatusCode::PAYLOAD_TOO_LARGE,
            format!("a body of at most {MOST_BYTES} bytes"),
        )
    };
    body.map(|body| body.to_bytes()).map_err(|_| too_long())
}

fn empty(status: StatusCode) -> Answer {
    let mut answer = Response::new(Full::default());
    *answer.status_mut() = status;
    answer
}

fn too_busy() -> Answer {
    let mut answer = empty(StatusCode::SERVICE_UNAVAILABLE);
    answer
        .headers_mut()
        .insert(RETRY_AFTER, hyper::header::HeaderValue::from_static("1"));
    answer
}

fn with_type(kind: &'static str, body: Bytes) -> Answer {
    let mut answer = Response::new(Full::new(body));
    answer
        .headers_mut()
        .insert(CONTENT_TYPE, hyper::header::HeaderValue::from_static(kind));
    answer
}

fn json_answer(value: &Value) -> Answer {
    with_type("application/json", Bytes::from(value.to_string()))
}

fn stats(workers: usize, counts: Counts) -> Value {
    json!({
        "received": counts.received,
        "finished": counts.finished,
        "refused": counts.refused,
        "waiting": counts.waiting,
        "serving": counts.serving,
        "workers": workers,
    })
}

/// The request as httpbin's `/anything` gives it, under the same names.
fn echo(parts: &Parts, body: &Bytes) -> Value {
    let host = parts
        .headers
        .get(HOST)
        .and_then(|host| host.to_str().ok())
        .unwrap_or("");
    json!({
        "method": parts.method.as_str(),
        "url": format!("http://{host}{}", parts.uri),
        "path": parts.uri.path(),
        "args": object(form_urlencoded::parse(parts.uri.query().unwrap_or("").as_bytes())),
        "headers": object(parts.headers.iter().map(|(name, value)| (name.as_str(), String::from_utf8_lossy(value.as_bytes())))),
        "data": String::from_utf8_lossy(body),
        "json": serde_json::from_slice::<Value>(body).unwrap_or(Value::Null),
    })
}

/// Pairs as an object; a name that comes more than once has a list.
fn object<K: Into<String>, V: Into<String>>(pairs: impl Iterator<Item = (K, V)>) -> Value {
    let mut object = serde_json::Map::new();
    for (name, value) in pairs {
        let value = Value::String(value.into());
        match object.entry(name) {
            serde_json::map::Entry::Vacant(place) => drop(place.insert(value)),
            serde_json::map::Entry::Occupied(mut place) => match place.get_mut() {
                Value::Array(list) => list.push(value),
                one => *one = Value::Array(vec![one.take(), value]),
            },
        }
    }
    Value::Object(object)
}

/// Seeded random bytes: the first n are always the same, and are made once.
struct Noise {
    seed: u64,
    made: Mutex<Bytes>,
}

impl Noise {
    fn new(seed: u64) -> Self {
        Self {
            seed,
            made: Mutex::new(Bytes::new()),
        }
    }

    fn take(&self, n: usize) -> Bytes {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if made.len() < n {
            let mut longer = vec![0; n.next_power_of_two().min(MOST_BYTES)];
            Pcg64Mcg::seed_from_u64(self.seed).fill_bytes(&mut longer);
            *made = Bytes::from(longer);
        }
        made.slice(0..n)
    }
}

/// What a connection and the requests on it know of each other.
#[derive(Default)]
struct State {
    /// Whether it is to be ended with a reset (RST) instead of a close (FIN).
    reset: AtomicBool,
    /// The answer that is being written; HTTP/1 has one at a time.
    writing: Mutex<Option<Entry>>,
    /// When the operating system last took bytes over.
    taken: AtomicU64,
}

impl State {
    fn expect(&self, entry: Option<Entry>) {
        *self.writing() = entry;
    }

    fn writing(&self) -> MutexGuard<'_, Option<Entry>> {
        self.writing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Everything that was to be written has been taken over.
    fn flushed(&self) {
        let entry = self.writing().take();
        entry
            .into_iter()
            .for_each(|entry| entry.written(self.taken.load(Ordering::Relaxed)));
    }
}

/// A connection that tells when its answers are written.
struct Line {
    stream: TcpStream,
    state: Arc<State>,
}

impl Line {
    fn note(&self, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if let Poll::Ready(Ok(1..)) = written {
            self.state.taken.store(now(), Ordering::Relaxed);
        }
        written
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        if self.state.reset.load(Ordering::Relaxed) {
            let _ = self.stream.set_zero_linger();
        }
    }
}

impl AsyncRead for Line {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Line {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.note(written)
    }

    /// Hyper flushes when it has nothing left to write.
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(cx);
        if let Poll::Ready(Ok(())) = flushed {
            self.state.flushed();
        }
        flushed
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        self.note(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
