//! The contract's side of a client: HTTP on a loopback address, one round at a time.

use crate::running::Running;
use crate::{Adapter, Problem, Round, problems, rows};
use bytes::Bytes;
use http_body_util::{BodyExt, Either, Full, Limited};
use hyper::body::{Body, Frame, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use std::cell::Cell;
use std::convert::Infallible;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::spawn_local;

/// Twice within the contract's 200 ms, with room for a busy machine.
const BATCH_EVERY: Duration = Duration::from_millis(80);
/// The most bytes of a round, most of them the body of its request.
const MOST_BYTES: usize = 16 << 20;
const CALLS: &str = "GET /client, POST /check, POST /rounds";

/// Answers the three calls of the contract, for as long as it is polled. Belongs into a `LocalSet`.
pub(crate) async fn accept(listener: TcpListener, adapter: Rc<dyn Adapter>) {
    let server = Rc::new(Server {
        adapter,
        busy: Rc::new(Cell::new(false)),
    });
    loop {
        match listener.accept().await {
            Ok((stream, _)) => drop(spawn_local(converse(stream, Rc::clone(&server)))),
            // Out of file descriptors, or the caller has gone: the next one may fare better.
            Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
}

async fn converse(stream: TcpStream, server: Rc<Server>) {
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request| Rc::clone(&server).answer(request));
    // A caller that goes away or breaks the protocol is its own problem.
    let _ = hyper::server::conn::http1::Builder::new()
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

type Reply = Response<Either<Full<Bytes>, Lines>>;

struct Server {
    adapter: Rc<dyn Adapter>,
    busy: Rc<Cell<bool>>,
}

impl Server {
    async fn answer(self: Rc<Self>, request: Request<Incoming>) -> Result<Reply, Infallible> {
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        Ok(match (method, path.as_str()) {
            (Method::GET, "/client") => plain(StatusCode::OK, &self.adapter.description().as_json()),
            (Method::POST, "/check") => self.check(request).await,
            (Method::POST, "/rounds") => self.round(request).await,
            (method, path) => failure(
                StatusCode::NOT_FOUND,
                &format!("{method} {path} isn't one of {CALLS}"),
            ),
        })
    }

    async fn check(&self, request: Request<Incoming>) -> Reply {
        match read(request).await {
            Ok(body) => {
                let noted = problems(&body, &*self.adapter).err().unwrap_or_default();
                plain(StatusCode::OK, &listed(&noted))
            }
            Err(reply) => reply,
        }
    }

    async fn round(&self, request: Request<Incoming>) -> Reply {
        let body = match read(request).await {
            Ok(body) => body,
            Err(reply) => return reply,
        };
        match problems(&body, &*self.adapter) {
            Err(noted) => plain(StatusCode::UNPROCESSABLE_ENTITY, &listed(&noted)),
            Ok(_) if self.busy.get() => failure(
                StatusCode::CONFLICT,
                "another round is running; wait for its end, or close it",
            ),
            Ok(round) => self.started(round),
        }
    }

    fn started(&self, round: Round) -> Reply {
        self.busy.set(true);
        let (sender, receiver) = unbounded_channel();
        spawn_local(stream(
            round,
            Rc::clone(&self.adapter),
            Place(Rc::clone(&self.busy)),
            sender,
        ));
        let mut reply = Response::new(Either::Right(Lines(receiver)));
        let kind = HeaderValue::from_static("application/x-ndjson");
        reply.headers_mut().insert(CONTENT_TYPE, kind);
        reply
    }
}

/// The place of the one round; free again when it is dropped.
struct Place(Rc<Cell<bool>>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.set(false);
    }
}

/// Runs a round; the last line goes out when the client is free: who has read it may start another.
async fn stream(round: Round, adapter: Rc<dyn Adapter>, place: Place, sender: UnboundedSender<Bytes>) {
    let last = match Running::start(round, &*adapter) {
        Ok(mut running) => {
            let went = batches(&mut running, &sender).await;
            running.close().await;
            send(&sender, &running);
            last_line(&running, went)
        }
        Err(why) => json!({"error": why}),
    };
    drop(place);
    let _ = sender.send(Bytes::from(format!("{last}\n")));
}

/// Writes batches until the last user has ended, or nobody listens any more.
async fn batches(running: &mut Running, sender: &UnboundedSender<Bytes>) -> Result<(), String> {
    let mut ticks = tokio::time::interval(BATCH_EVERY);
    loop {
        tokio::select! {
            () = sender.closed() => return Ok(()),
            _ = ticks.tick() => send(sender, running),
            ended = running.next_end() => match ended {
                Some(Ok(())) => {}
                Some(Err(why)) => return Err(why),
                None => return Ok(()),
            },
        }
    }
}

fn send(sender: &UnboundedSender<Bytes>, running: &Running) {
    for line in rows::lines(&running.rows.take()) {
        // An audience that has left is noticed where it is waited for.
        let _ = sender.send(line);
    }
}

fn last_line(running: &Running, went: Result<(), String>) -> Value {
    match went {
        Ok(()) => json!({"end": {
            "rows": running.rows.taken(),
            "duration_us": running.duration_us(),
            "cpu_us": running.cpu_us(),
        }}),
        Err(why) => json!({"error": why}),
    }
}

async fn read(request: Request<Incoming>) -> Result<Bytes, Reply> {
    let body = Limited::new(request.into_body(), MOST_BYTES).collect().await;
    let too_long = format!("a round of at most {MOST_BYTES} bytes");
    body.map(|body| body.to_bytes())
        .map_err(|_| failure(StatusCode::PAYLOAD_TOO_LARGE, &too_long))
}

fn listed(noted: &[Problem]) -> Value {
    json!({"problems": noted})
}

fn plain(status: StatusCode, value: &Value) -> Reply {
    let mut reply = Response::new(Either::Left(Full::new(Bytes::from(value.to_string()))));
    *reply.status_mut() = status;
    reply
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    reply
}

fn failure(status: StatusCode, message: &str) -> Reply {
    plain(status, &json!({"error": message}))
}

/// The end of the stream that is sent out; it is dropped when the connection closes.
struct Lines(UnboundedReceiver<Bytes>);

impl Body for Lines {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0
            .poll_recv(cx)
            .map(|line| line.map(|line| Ok(Frame::data(line))))
    }
}
