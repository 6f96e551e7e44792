//! What a round asks for, and of whom.

use crate::job::Filled;
use crate::job::fields::{Node, Object};
use crate::job::request::{PATHS, is_header_name, is_header_value, is_visible};
use patternbench_wire::{Method, is_origin};

/// What a target may be.
const TARGETS: &str =
    "http, host and port and nothing else, as http://127.0.0.1:8080 (a round says nothing about TLS)";
/// What the engine sets by itself, to say where a message ends.
const OWN_HEADERS: [&str; 3] = ["content-length", "transfer-encoding", "connection"];

/// The URL of a target.
pub fn target(node: &Node<'_>) -> Option<String> {
    let url = node.text()?;
    if is_origin(url) {
        return Some(url.to_owned());
    }
    node.wrong(TARGETS, "is not a target of a round");
    None
}

/// The request of every attempt, and how many microseconds one may take.
pub fn request(object: &Object<'_>) -> Option<Filled> {
    let methods = Method::ALL.map(|method| (method.name(), method));
    let method = object.need("method", |node| node.one_of(&methods));
    let path = object.need("path", path);
    let headers = object.need("headers", headers);
    let body = object.maybe("body", |node| node.text().map(str::to_owned));
    Some(Filled {
        method: method?,
        path: path?,
        headers: headers?,
        body: body?.unwrap_or_default(),
    })
}

fn path(node: &Node<'_>) -> Option<String> {
    let path = node.text()?;
    if path.starts_with('/') && is_visible(path) && !path.contains('#') {
        return Some(path.to_owned());
    }
    node.wrong(PATHS, "is not a path of a request");
    None
}

fn headers(node: &Node<'_>) -> Option<Vec<(String, String)>> {
    let read: Vec<_> = node.texts()?.iter().map(header).collect();
    read.into_iter().collect()
}

fn header((name, node): &(String, Node<'_>)) -> Option<(String, String)> {
    let value = node.text()?;
    if OWN_HEADERS.iter().any(|own| name.eq_ignore_ascii_case(own)) {
        let allowed = "any header but Content-Length, Transfer-Encoding and Connection";
        node.wrong(allowed, "the client sets this header by itself");
        return None;
    }
    if !is_header_name(name) || !is_header_value(value) {
        node.wrong(
            "a header's name, and a value without line breaks",
            "is not a header",
        );
        return None;
    }
    Some((name.clone(), value.to_owned()))
}
