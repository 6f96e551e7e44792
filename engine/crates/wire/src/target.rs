//! Where requests go: a URL, parsed and resolved before anything starts.

use crate::tls::{TlsError, TlsSettings};
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::Arc;

/// An address to connect to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Endpoint {
    /// TCP.
    Tcp(SocketAddr),
    /// A Unix socket in the file system.
    Unix(PathBuf),
}

/// Why a URL can't be a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetError {
    /// What is allowed instead.
    pub allowed: String,
    /// What is wrong, in a sentence.
    pub message: String,
}

/// One server that requests are sent to.
#[derive(Clone)]
pub struct Target {
    /// The address.
    pub endpoint: Endpoint,
    /// Host and port as the `Host` header names them.
    pub host: String,
    /// The path of the URL, put before every step's path; empty or beginning with a slash, never ending with one.
    pub base_path: String,
    /// The whole path and query as the URL had them: what a URL without further steps asks for.
    pub path_and_query: String,
    pub(crate) tls: Option<(Arc<rustls::ClientConfig>, rustls_pki_types::ServerName<'static>)>,
}

/// Scheme, host and port of a URL, so that equal servers have equal texts.
#[must_use]
pub fn origin(scheme: &str, authority: &str) -> String {
    let (scheme, authority) = (scheme.to_ascii_lowercase(), authority.to_ascii_lowercase());
    let has_port = authority
        .rsplit_once(':')
        .is_some_and(|(_, port)| !port.contains(']') && !port.is_empty());
    let bare = authority.trim_end_matches(':');
    match (has_port, scheme.as_str()) {
        (true, _) => format!("{scheme}://{authority}"),
        (false, "https") => format!("{scheme}://{bare}:443"),
        (false, _) => format!("{scheme}://{bare}:80"),
    }
}

/// The host of an authority, without its port and in lower case; an IPv6 address comes without its brackets.
#[must_use]
pub fn hostname(authority: &str) -> String {
    let bare = match authority.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => host,
        _ => authority,
    };
    bare.trim_matches(['[', ']']).to_ascii_lowercase()
}

/// Whether a URL is plain HTTP, host and port and nothing else; the host is not looked up.
#[must_use]
pub fn is_origin(url: &str) -> bool {
    let authority = url.strip_prefix("http://");
    authority.is_some_and(|rest| host_and_port(rest.strip_suffix('/').unwrap_or(rest), 80).is_ok())
}

const ALLOWED: &str = "http://HOST[:PORT][/PATH], https://..., or unix:/path/of/socket[:/PATH]";

impl Target {
    /// Parses and resolves a URL, and prepares TLS when it asks for it.
    ///
    /// # Errors
    /// When the URL can't be parsed, its host can't be resolved, or TLS can't be set up.
    pub fn new(url: &str, settings: &TlsSettings) -> Result<Self, TargetError> {
        if let Some(rest) = url.strip_prefix("unix:") {
            return unix(rest);
        }
        let (tls, rest) = match (url.strip_prefix("http://"), url.strip_prefix("https://")) {
            (Some(rest), _) => (false, rest),
            (_, Some(rest)) => (true, rest),
            _ => return Err(wrong("the URL has no scheme that is known here")),
        };
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        let path = path.split('#').next().unwrap_or_default();
        let (host, port) = host_and_port(authority, if tls { 443 } else { 80 })?;
        let address = resolve(host, port)?;
        let tls = if tls { Some(tls_for(settings, host)?) } else { None };
        Self::assemble(Endpoint::Tcp(address), authority.to_owned(), path, tls)
    }

    /// Whether requests to it are encrypted.
    #[must_use]
    pub fn is_encrypted(&self) -> bool {
        self.tls.is_some()
    }

    /// `http` or `https`.
    #[must_use]
    pub fn scheme(&self) -> &'static str {
        if self.is_encrypted() { "https" } else { "http" }
    }

    /// Scheme, host and port, as [`origin`] writes them.
    #[must_use]
    pub fn origin(&self) -> String {
        origin(self.scheme(), &self.host)
    }

    fn assemble(
        endpoint: Endpoint,
        host: String,
        path: &str,
        tls: Option<(Arc<rustls::ClientConfig>, rustls_pki_types::ServerName<'static>)>,
    ) -> Result<Self, TargetError> {
        if path.bytes().any(|byte| !byte.is_ascii_graphic()) {
            return Err(wrong("the path has a character that must be written as %XX"));
        }
        let path_and_query = if path.starts_with('/') {
            path.to_owned()
        } else {
            format!("/{path}")
        };
        let base_path = path
            .split('?')
            .next()
            .unwrap_or_default()
            .trim_end_matches('/')
            .to_owned();
        Ok(Self {
            endpoint,
            host,
            base_path,
            path_and_query,
            tls,
        })
    }
}

fn unix(rest: &str) -> Result<Target, TargetError> {
    let (socket, path) = rest.split_once(':').unwrap_or((rest, ""));
    if !socket.starts_with('/') {
        return Err(wrong("the path of a Unix socket begins with a slash"));
    }
    // struct sockaddr_un holds 108 bytes with the final zero.
    if socket.len() > 107 {
        return Err(wrong("the path of a Unix socket has at most 107 bytes"));
    }
    Target::assemble(
        Endpoint::Unix(PathBuf::from(socket)),
        "localhost".to_owned(),
        path,
        None,
    )
}

fn host_and_port(authority: &str, default: u16) -> Result<(&str, u16), TargetError> {
    if authority.contains('@') {
        return Err(wrong(
            "put user and password into an Authorization header, not into the URL",
        ));
    }
    let (host, port) = match authority.rsplit_once(':') {
        // A colon inside the brackets of an IPv6 address isn't one before a port.
        Some((host, port)) if !port.contains(']') => (host, Some(port)),
        _ => (authority, None),
    };
    let port = match port {
        None => default,
        Some(text) => text
            .parse()
            .ok()
            .filter(|port| *port > 0)
            .ok_or_else(|| wrong("the port is not a number from 1 to 65535"))?,
    };
    let host = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'))
        .unwrap_or(host);
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b".-_:%".contains(&byte);
    if host.is_empty() || !host.bytes().all(fits) {
        return Err(wrong("the URL names no host"));
    }
    Ok((host, port))
}

fn resolve(host: &str, port: u16) -> Result<SocketAddr, TargetError> {
    let addresses: Vec<SocketAddr> = (host, port)
        .to_socket_addrs()
        .map(Iterator::collect)
        .unwrap_or_default();
    // IPv4 first: a server on localhost that listens on one family only almost always means that one.
    let preferred = addresses
        .iter()
        .find(|address| address.is_ipv4())
        .or_else(|| addresses.first());
    preferred.copied().ok_or_else(|| TargetError {
        allowed: "a host name that resolves here, or an IP address".to_owned(),
        message: format!("the host {host} can't be resolved"),
    })
}

fn tls_for(
    settings: &TlsSettings,
    host: &str,
) -> Result<(Arc<rustls::ClientConfig>, rustls_pki_types::ServerName<'static>), TargetError> {
    let named = settings.server_name.as_deref().unwrap_or(host).to_owned();
    let name = rustls_pki_types::ServerName::try_from(named)
        .map_err(|_| wrong("the host isn't a name that TLS can verify"))?;
    let config = settings.config().map_err(|TlsError(message)| TargetError {
        allowed: "a PEM file with at least one certificate".to_owned(),
        message,
    })?;
    Ok((config, name))
}

fn wrong(message: &str) -> TargetError {
    TargetError {
        allowed: ALLOWED.to_owned(),
        message: message.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn target(url: &str) -> Result<Target, TargetError> {
        Target::new(url, &TlsSettings::default())
    }

    #[test]
    fn a_url_is_taken_apart() {
        let target = target("http://127.0.0.1:8080/api/?x=1#top").unwrap();
        assert_eq!(target.endpoint, Endpoint::Tcp("127.0.0.1:8080".parse().unwrap()));
        assert_eq!(
            (target.host.as_str(), target.base_path.as_str()),
            ("127.0.0.1:8080", "/api")
        );
        assert_eq!(target.path_and_query, "/api/?x=1");
    }

    #[test]
    fn a_host_has_no_port_no_brackets_and_no_capitals() {
        for (authority, expected) in [
            ("Shop.example:8080", "shop.example"),
            ("shop.example", "shop.example"),
            ("127.0.0.1:80", "127.0.0.1"),
            ("[::1]:80", "::1"),
            ("[2001:DB8::2]", "2001:db8::2"),
        ] {
            assert_eq!(hostname(authority), expected, "{authority}");
        }
    }

    #[test]
    fn equal_servers_have_equal_origins() {
        for (scheme, authority, expected) in [
            ("http", "a.example", "http://a.example:80"),
            ("HTTP", "A.example:80", "http://a.example:80"),
            ("https", "a.example:", "https://a.example:443"),
            ("http", "[::1]", "http://[::1]:80"),
            ("http", "[::1]:81", "http://[::1]:81"),
        ] {
            assert_eq!(origin(scheme, authority), expected);
        }
    }

    #[test]
    fn ipv6_and_default_ports_are_understood() {
        assert_eq!(
            target("http://[::1]/").unwrap().endpoint,
            Endpoint::Tcp("[::1]:80".parse().unwrap())
        );
        assert_eq!(
            target("http://[::1]:81").unwrap().endpoint,
            Endpoint::Tcp("[::1]:81".parse().unwrap())
        );
    }

    #[test]
    fn a_unix_socket_may_have_a_path() {
        let target = target("unix:/run/app.sock:/v1/x").unwrap();
        assert_eq!(target.endpoint, Endpoint::Unix(PathBuf::from("/run/app.sock")));
        assert_eq!(target.path_and_query, "/v1/x");
    }

    #[test]
    fn what_is_no_url_is_refused_with_what_is_allowed() {
        for url in [
            "",
            "127.0.0.1",
            "ftp://x",
            "http://",
            "http://:80",
            "http://h:0",
            "http://h:x",
            "http://a b/",
            "unix:x",
            "http://u:p@h/",
            "http://127.0.0.1/a b",
        ] {
            let error = target(url)
                .err()
                .unwrap_or_else(|| panic!("{url} is taken for a URL"));
            assert!(!error.allowed.is_empty() && !error.message.is_empty());
        }
    }

    #[test]
    fn an_origin_is_plain_http_with_host_and_port_and_nothing_else() {
        for url in [
            "http://h",
            "http://h:80/",
            "http://127.0.0.1:8080",
            "http://[::1]:1",
        ] {
            assert!(is_origin(url), "{url}");
        }
        for url in [
            "https://h",
            "h:80",
            "http://",
            "http://h/path",
            "http://h?x",
            "http://u@h",
            "http://h#top",
            "http://h:x",
        ] {
            assert!(!is_origin(url), "{url}");
        }
    }

    #[test]
    fn a_host_that_cannot_be_resolved_is_named() {
        assert!(
            target("http://no-such-host.invalid/")
                .err()
                .unwrap()
                .message
                .contains("no-such-host.invalid")
        );
    }

    proptest! {
        #[test]
        fn no_url_makes_the_parser_panic(rest in "[ -~]{0,40}") {
            // Brackets keep the host from being looked up by name.
            let _ = target(&format!("http://[::1]{rest}"));
            let _ = target(&format!("unix:{rest}"));
        }
    }
}
