//! What a round asks for.

use crate::fields::Fields;
use serde_json::Value;
use ureq::http::{HeaderMap, HeaderName, HeaderValue, Method, Uri};

/// The request of every attempt.
#[derive(Debug, Clone)]
pub struct RequestPlan {
    /// Its method.
    pub method: Method,
    /// Target and path.
    pub uri: Uri,
    /// Its headers, besides Host and Content-Length.
    pub headers: HeaderMap,
    /// Its body, if any.
    pub body: Option<String>,
    /// For each attempt.
    pub timeout_us: u64,
}

/// What a target may be.
pub(super) const TARGETS: &str =
    "http, host and port and nothing else, as http://127.0.0.1:8080 (this client speaks no TLS)";

pub(super) fn read_target(value: &Value) -> Option<&str> {
    let text = value.as_str()?;
    let uri: Uri = text.parse().ok()?;
    let plain = uri.scheme_str() == Some("http") && uri.host().is_some_and(|host| !host.is_empty());
    let bare = uri.path_and_query().is_none_or(|path| path == "/") && !text.contains(['@', '#']);
    (plain && bare).then(|| text.trim_end_matches('/'))
}

const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

pub(super) fn read_request(fields: Fields, target: Option<&str>) -> Option<RequestPlan> {
    let one_of = format!("one of {}", METHODS.join(", "));
    let method = fields.get("method", &one_of, |value| {
        let name = value.as_str().filter(|name| METHODS.contains(name))?;
        Method::from_bytes(name.as_bytes()).ok()
    });
    // Without a target any other will do to tell whether the path is one.
    let origin = target.unwrap_or("http://localhost");
    let uri = fields.get("path", "a path from /, percent-encoded", |value| {
        read_uri(origin, value)
    });
    let headers = fields.object("headers").and_then(read_headers);
    let body = fields.get("body", "null, or a string", |value| match value {
        Value::Null => Some(None),
        value => value.as_str().map(|body| Some(body.to_owned())),
    });
    let timeout_us = fields.whole("timeout_us", 1, u64::MAX);
    fields.end();
    target?;
    Some(RequestPlan {
        method: method?,
        uri: uri?,
        headers: headers?,
        body: body?,
        timeout_us: timeout_us?,
    })
}

fn read_uri(origin: &str, value: &Value) -> Option<Uri> {
    let path = value
        .as_str()
        .filter(|path| path.starts_with('/') && !path.contains('#'))?;
    format!("{origin}{path}").parse().ok()
}

/// What the client sets by itself, to say where a message ends.
const OWN_HEADERS: [&str; 3] = ["content-length", "transfer-encoding", "connection"];

fn read_headers(fields: Fields) -> Option<HeaderMap> {
    let mut headers = HeaderMap::new();
    let mut complete = true;
    for (name, value) in fields.entries() {
        match read_header(name, value) {
            Ok((name, value)) => drop(headers.append(name, value)),
            Err(allowed) => {
                fields.note(name, value, "is not allowed", allowed);
                complete = false;
            }
        }
    }
    complete.then_some(headers)
}

fn read_header(name: &str, value: &Value) -> Result<(HeaderName, HeaderValue), &'static str> {
    let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| "the name of a header")?;
    if OWN_HEADERS.contains(&name.as_str()) {
        return Err("any header but Content-Length, Transfer-Encoding and Connection, which the client sets");
    }
    let value = value.as_str().and_then(|value| HeaderValue::from_str(value).ok());
    value
        .map(|value| (name, value))
        .ok_or("a string of visible ASCII characters")
}
