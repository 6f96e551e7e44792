//! The three calls of the contract over HTTP.

use crate::place::Places;
use crate::stream::Lines;
use crate::{Place, Stream};
use bytes::Bytes;
use http_body_util::{BodyExt, Either, Full, Limited};
use hyper::body::Incoming;
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use std::convert::Infallible;
use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{LocalSet, spawn_local};

/// The most bytes of a round: 16 MB, most of it the body of its request.
const MOST_BYTES: usize = 16 << 20;
/// How long to wait after a connection could not be accepted.
const AFTER_FAILURE: Duration = Duration::from_millis(10);

/// A client behind the contract.
pub trait Client: 'static {
    /// A round that it has read and can drive.
    type Round;

    /// Who it is: what `GET /client` answers.
    fn description(&self) -> Value;

    /// The round of a request's body.
    ///
    /// # Errors
    /// Every problem there is, each an object as the contract has it.
    fn read(&self, body: &[u8]) -> Result<Self::Round, Vec<Value>>;

    /// Starts to drive a round, which writes to the stream and ends it with its place. Called in a `LocalSet`.
    ///
    /// # Errors
    /// One sentence, when the round can't be started.
    fn start(&self, round: Self::Round, stream: Stream, place: Place) -> Result<(), String>;
}

/// Serves the contract until the process is ended.
///
/// Prints `{"listening": "host:port"}` on standard output when it is ready.
///
/// # Errors
/// One sentence, when the address cannot be listened on.
pub fn serve(client: impl Client, host: IpAddr, port: u16) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| format!("cannot start the client: {error}"))?;
    LocalSet::new().block_on(&runtime, async {
        let address = SocketAddr::new(host, port);
        let taken = |error| format!("cannot listen on port {port}: {error}; --port 0 takes a free one");
        let listener = TcpListener::bind(address).await.map_err(taken)?;
        let local = listener.local_addr().map_err(taken)?;
        announce(local).map_err(|error| format!("cannot say where the client listens: {error}"))?;
        accept(listener, Rc::new(Server::new(client))).await;
        Ok(())
    })
}

fn announce(address: SocketAddr) -> io::Result<()> {
    writeln!(io::stdout(), "{}", json!({"listening": address.to_string()}))
}

async fn accept<C: Client>(listener: TcpListener, server: Rc<Server<C>>) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => drop(spawn_local(converse(stream, Rc::clone(&server)))),
            // Out of file descriptors, or the caller has gone: the next one may fare better.
            Err(_) => tokio::time::sleep(AFTER_FAILURE).await,
        }
    }
}

async fn converse<C: Client>(stream: TcpStream, server: Rc<Server<C>>) {
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request| Rc::clone(&server).answer(request));
    // A caller that goes away or breaks the protocol is its own problem.
    let _ = hyper::server::conn::http1::Builder::new()
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

type Answer = Response<Either<Full<Bytes>, Lines>>;

struct Server<C> {
    client: C,
    places: Places,
}

impl<C: Client> Server<C> {
    fn new(client: C) -> Self {
        let places = Places::default();
        Self { client, places }
    }

    async fn answer(self: Rc<Self>, request: Request<Incoming>) -> Result<Answer, Infallible> {
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        Ok(match (path.as_str(), method) {
            ("/client", Method::GET) => plain(StatusCode::OK, &self.client.description()),
            ("/check", Method::POST) => self.check(request).await,
            ("/rounds", Method::POST) => self.round(request).await,
            ("/client", _) => not_allowed("GET"),
            ("/check" | "/rounds", _) => not_allowed("POST"),
            _ => failure(
                StatusCode::NOT_FOUND,
                &format!("no {path} here: GET /client, POST /check, POST /rounds"),
            ),
        })
    }

    async fn check(&self, request: Request<Incoming>) -> Answer {
        match body_of(request).await {
            Ok(body) => {
                let problems = self.client.read(&body).err().unwrap_or_default();
                plain(StatusCode::OK, &listed(problems))
            }
            Err(answer) => answer,
        }
    }

    async fn round(&self, request: Request<Incoming>) -> Answer {
        let body = match body_of(request).await {
            Ok(body) => body,
            Err(answer) => return answer,
        };
        match (self.client.read(&body), self.places.take()) {
            (Err(problems), _) => plain(StatusCode::UNPROCESSABLE_ENTITY, &listed(problems)),
            (Ok(_), None) => failure(
                StatusCode::CONFLICT,
                "another round runs: wait for its end, or close its connection",
            ),
            (Ok(round), Some(place)) => self.started(round, place),
        }
    }

    fn started(&self, round: C::Round, place: Place) -> Answer {
        let (stream, lines) = Stream::new();
        match self.client.start(round, stream, place) {
            Ok(()) => streamed(lines),
            Err(why) => failure(StatusCode::INTERNAL_SERVER_ERROR, &why),
        }
    }
}

async fn body_of(request: Request<Incoming>) -> Result<Bytes, Answer> {
    let body = Limited::new(request.into_body(), MOST_BYTES).collect().await;
    let too_long = format!("a round of at most {MOST_BYTES} bytes");
    body.map(|body| body.to_bytes())
        .map_err(|_| failure(StatusCode::PAYLOAD_TOO_LARGE, &too_long))
}

fn listed(problems: Vec<Value>) -> Value {
    json!({"problems": problems})
}

fn plain(status: StatusCode, value: &Value) -> Answer {
    let body = Full::new(Bytes::from(value.to_string()));
    let mut answer = of_type("application/json", Either::Left(body));
    *answer.status_mut() = status;
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

fn streamed(lines: Lines) -> Answer {
    of_type("application/x-ndjson", Either::Right(lines))
}

fn of_type(kind: &'static str, body: Either<Full<Bytes>, Lines>) -> Answer {
    let mut answer = Response::new(body);
    answer
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    answer
}

#[cfg(test)]
mod tests;
