//! Where the requests of a round go, and the request itself.

use crate::{Request, Round};
use bytes::Bytes;
use http_body_util::Full;
use hyper::Uri;
use hyper::header::HOST;
use std::sync::Arc;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// The request of every attempt, as hyper sends it.
pub(crate) type Sent = hyper::Request<Full<Bytes>>;

/// The target of a round: its address, how to be sure of it, and what is asked of it.
pub(crate) struct Target {
    /// `host:port`, to connect to.
    pub(crate) address: String,
    /// For `https`: who the other side has to be, and what speaks TLS.
    pub(crate) tls: Option<(ServerName<'static>, TlsConnector)>,
    request: Sent,
}

impl Target {
    /// The target of a round.
    ///
    /// # Errors
    /// One sentence, when its URL or its request isn't valid.
    pub(crate) fn of(round: &Round) -> Result<Self, String> {
        let wrong = |why: String| format!("cannot call {}: {why}", round.target);
        let url: Uri = round
            .target
            .parse::<Uri>()
            .map_err(|error| wrong(error.to_string()))?;
        let host = url.host().ok_or_else(|| wrong("it names no host".to_owned()))?;
        let secure = url.scheme_str() == Some("https");
        let port = url.port_u16().unwrap_or(if secure { 443 } else { 80 });
        Ok(Self {
            address: format!("{host}:{port}"),
            tls: if secure {
                Some(tls(host).map_err(wrong)?)
            } else {
                None
            },
            request: request(&url, &round.request).map_err(|error| wrong(error.to_string()))?,
        })
    }

    /// The request, to send it once more.
    pub(crate) fn request(&self) -> Sent {
        self.request.clone()
    }
}

/// The header `Host` is the target's authority; hyper adds the length of a body.
fn request(url: &Uri, asked: &Request) -> Result<Sent, hyper::http::Error> {
    let authority = url.authority().map_or("", |authority| authority.as_str());
    let path = format!("{}{}", url.path().trim_end_matches('/'), asked.path);
    let mut request = hyper::Request::builder()
        .method(asked.method.as_str())
        .uri(path)
        .header(HOST, authority);
    for (name, value) in &asked.headers {
        request = request.header(name, value);
    }
    request.body(Full::from(asked.body.clone().unwrap_or_default()))
}

fn tls(host: &str) -> Result<(ServerName<'static>, TlsConnector), String> {
    let name = host.trim_matches(['[', ']']).to_owned();
    let server = ServerName::try_from(name).map_err(|error| error.to_string())?;
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let config = ClientConfig::builder()
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok((server, TlsConnector::from(Arc::new(config))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problems;
    use crate::testing::{PlainAdapter, round};
    use serde_json::json;

    fn target(url: &str) -> Result<Target, String> {
        let mut body = round(json!({"baseline": {}}));
        body["target"] = json!(url);
        body["request"]["path"] = json!("/x?y=1");
        Target::of(&problems(body.to_string().as_bytes(), &PlainAdapter).unwrap())
    }

    #[test]
    fn the_path_is_appended_to_the_target_and_the_host_is_its_authority() {
        let target = target("http://127.0.0.1:8080/base/").unwrap();
        assert_eq!(target.address, "127.0.0.1:8080");
        assert_eq!(target.request().uri(), "/base/x?y=1");
        assert_eq!(target.request().headers()[HOST], "127.0.0.1:8080");
    }

    #[test]
    fn a_target_without_a_host_is_told_in_a_sentence() {
        let told = target("/nowhere").err().unwrap();
        assert_eq!(told, "cannot call /nowhere: it names no host");
    }
}
