//! The one connection of a user.

use crate::Outcome;
use crate::target::Target;
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use std::cell::RefCell;
use std::error::Error;
use std::rc::Rc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

type Fault = Box<dyn Error + Send + Sync>;

/// Kept alive between attempts, without retries or redirects of its own.
pub(crate) struct Connection {
    target: Rc<Target>,
    timeout: Duration,
    idle: RefCell<Option<Open>>,
}

impl Connection {
    pub(crate) fn new(target: Rc<Target>, timeout: Duration) -> Self {
        Self {
            target,
            timeout,
            idle: RefCell::new(None),
        }
    }

    /// One attempt: its outcome once the last byte has been read, or when it failed.
    ///
    /// Dropping it before that closes the connection.
    pub(crate) async fn send(&self) -> Outcome {
        match tokio::time::timeout(self.timeout, self.exchange()).await {
            Ok(Ok(status)) => Outcome::of_status(status),
            Ok(Err(_)) => Outcome::ConnectionError,
            Err(_) => Outcome::Timeout,
        }
    }

    async fn exchange(&self) -> Result<u16, Fault> {
        let mut open = self.ready().await?;
        let response = open.sender.send_request(self.target.request()).await?;
        let status = response.status().as_u16();
        let mut body = response.into_body();
        while let Some(frame) = body.frame().await {
            frame?; // to the last byte, so that the time is that of the whole answer
        }
        self.idle.replace(Some(open));
        Ok(status)
    }

    /// The connection that was kept, unless the other side has closed it; else a new one.
    async fn ready(&self) -> Result<Open, Fault> {
        let kept = self.idle.take();
        if let Some(mut open) = kept
            && open.sender.ready().await.is_ok()
        {
            return Ok(open);
        }
        connect(&self.target).await
    }
}

async fn connect(target: &Target) -> Result<Open, Fault> {
    let stream = TcpStream::connect(&target.address).await?;
    stream.set_nodelay(true)?;
    match &target.tls {
        Some((server, connector)) => open(connector.connect(server.clone(), stream).await?).await,
        None => open(stream).await,
    }
}

async fn open(stream: impl AsyncRead + AsyncWrite + Unpin + 'static) -> Result<Open, Fault> {
    let (sender, connection) = handshake(TokioIo::new(stream)).await?;
    let task = tokio::task::spawn_local(async move {
        // An error of it is reported to the sender.
        let _ = connection.await;
    });
    Ok(Open { sender, task })
}

/// An open connection; dropping it closes it, whatever is under way.
struct Open {
    sender: SendRequest<Full<Bytes>>,
    task: JoinHandle<()>,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.task.abort();
    }
}
