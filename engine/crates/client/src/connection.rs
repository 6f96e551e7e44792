//! One keep-alive connection, and one attempt at a time on it.

use crate::round::RequestPlan;
use crate::rows::Outcome;
use patternbench_timing::US;
use std::io::{self, Read};
use std::net::{SocketAddr, ToSocketAddrs};
use std::time::Duration;
use ureq::http::{Request, Response, Uri};
use ureq::unversioned::resolver::{ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{DefaultConnector, NextTimeout};
use ureq::{Agent, Body, config::Config};

const BUFFER: usize = 16 * 1024;
const NAME: &str = concat!("patternbench-native/", env!("CARGO_PKG_VERSION"));

/// Looks the target up, once a round: names are not what is measured.
///
/// # Errors
/// One sentence that names the host.
pub fn resolve(uri: &Uri) -> Result<Vec<SocketAddr>, String> {
    let host = uri.host().unwrap_or_default();
    let address = (host.trim_matches(['[', ']']), uri.port_u16().unwrap_or(80));
    let found: Vec<SocketAddr> = address
        .to_socket_addrs()
        .map_err(|error| format!("cannot resolve {host}: {error}"))?
        .collect();
    if found.is_empty() {
        Err(format!("cannot resolve {host}: no address"))
    } else {
        Ok(found)
    }
}

/// The connection of one user, not open yet. Its clones are the same connection.
#[derive(Debug, Clone)]
pub struct Connection {
    agent: Agent,
}

/// Something that only the client itself is to blame for, which makes the round worthless.
#[derive(Debug, PartialEq, Eq)]
pub struct OwnFault(pub String);

impl Connection {
    /// Every setting is explicit: nothing is left to what the library thinks best.
    pub fn new(plan: &RequestPlan, addresses: &[SocketAddr]) -> Self {
        let timeout = Duration::from_nanos(plan.timeout_us.saturating_mul(US));
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .proxy(None)
            .no_delay(true)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .user_agent(NAME)
            .accept("*/*")
            .accept_encoding(ureq::config::AutoHeaderValue::None)
            .timeout_global(Some(timeout))
            .max_idle_connections(1)
            .max_idle_connections_per_host(1)
            .max_idle_age(Duration::from_secs(24 * 3_600))
            .input_buffer_size(BUFFER)
            .output_buffer_size(BUFFER)
            .allow_non_standard_methods(true)
            .build();
        let agent = Agent::with_parts(config, DefaultConnector::new(), Known(addresses.to_vec()));
        Self { agent }
    }

    /// One attempt, to the last byte of its answer.
    ///
    /// # Errors
    /// When the client has run out of something, so that the outcome would say nothing about the target.
    pub fn attempt(&self, plan: &RequestPlan, scratch: &mut [u8]) -> Result<Outcome, OwnFault> {
        match self.send(plan).and_then(|answer| read_to_end(answer, scratch)) {
            Ok(status) => Ok(Outcome::Status(status)),
            Err(error) => judge(&error),
        }
    }

    /// Closes the connection, also under an attempt that waits on it in another thread.
    pub fn cut(self) {
        self.agent.shutdown();
    }

    fn send(&self, plan: &RequestPlan) -> Result<Response<Body>, ureq::Error> {
        let mut request = Request::new(());
        *request.method_mut() = plan.method.clone();
        *request.uri_mut() = plan.uri.clone();
        *request.headers_mut() = plan.headers.clone();
        match &plan.body {
            Some(body) => self.agent.run(request.map(|()| body.as_bytes())),
            None => self.agent.run(request),
        }
    }
}

fn read_to_end(mut answer: Response<Body>, scratch: &mut [u8]) -> Result<u16, ureq::Error> {
    let mut body = answer.body_mut().as_reader();
    while body.read(scratch)? > 0 {}
    Ok(answer.status().as_u16())
}

fn judge(error: &ureq::Error) -> Result<Outcome, OwnFault> {
    match error {
        ureq::Error::Timeout(_) => Ok(Outcome::Timeout),
        ureq::Error::Io(error) => judge_io(error),
        _ => Ok(Outcome::ConnectionError),
    }
}

fn judge_io(error: &io::Error) -> Result<Outcome, OwnFault> {
    const OUT_OF_FILES: [i32; 2] = [23, 24];
    const OUT_OF_PORTS: i32 = 99;
    // A time-out while the body is read comes wrapped in an I/O error.
    if let Some(inner) = error
        .get_ref()
        .and_then(|inner| inner.downcast_ref::<ureq::Error>())
    {
        return judge(inner);
    }
    match error.raw_os_error() {
        Some(code) if OUT_OF_FILES.contains(&code) => Err(OwnFault(
            "the client has no file descriptors left: raise ulimit -n, or use fewer users".into(),
        )),
        Some(OUT_OF_PORTS) => Err(OwnFault(
            "the client has no local ports left: wait a minute, or use fewer connections".into(),
        )),
        _ if error.kind() == io::ErrorKind::TimedOut => Ok(Outcome::Timeout),
        _ => Ok(Outcome::ConnectionError),
    }
}

/// Addresses that are known already.
#[derive(Debug)]
struct Known(Vec<SocketAddr>);

impl Resolver for Known {
    fn resolve(&self, _: &Uri, _: &Config, _: NextTimeout) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let mut addresses = self.empty();
        for address in self.0.iter().take(16) {
            addresses.push(*address);
        }
        Ok(addresses)
    }
}
