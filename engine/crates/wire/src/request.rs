//! Requests, rendered to bytes once where nothing in them varies.

use std::fmt::Write as _;

/// The methods that a step may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// GET
    Get,
    /// HEAD
    Head,
    /// POST
    Post,
    /// PUT
    Put,
    /// PATCH
    Patch,
    /// DELETE
    Delete,
    /// OPTIONS
    Options,
}

impl Method {
    /// Every method, in the order in which they are listed.
    pub const ALL: [Self; 7] = [
        Self::Get,
        Self::Head,
        Self::Post,
        Self::Put,
        Self::Patch,
        Self::Delete,
        Self::Options,
    ];

    /// As it is written in a request.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Head => "HEAD",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
            Self::Options => "OPTIONS",
        }
    }

    /// Servers expect a length from these even when there is no body.
    fn has_body(self) -> bool {
        matches!(self, Self::Post | Self::Put | Self::Patch)
    }
}

/// One request, in parts.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// Its method.
    pub method: Method,
    /// Host and port as the `Host` header names them.
    pub host: &'a str,
    /// Path and query, beginning with a slash.
    pub path: &'a str,
    /// Further header lines.
    pub headers: &'a [(String, String)],
    /// The body, possibly empty.
    pub body: &'a [u8],
}

impl Request<'_> {
    /// The request as it goes over the wire.
    #[must_use]
    pub fn render(&self) -> Vec<u8> {
        let mut head = format!("{} {} HTTP/1.1\r\n", self.method.name(), self.path);
        let given = |name: &str| {
            self.headers
                .iter()
                .any(|(given, _)| given.eq_ignore_ascii_case(name))
        };
        if !given("host") {
            let _ = write!(head, "Host: {}\r\n", self.host);
        }
        for (name, value) in self.headers {
            let _ = write!(head, "{name}: {value}\r\n");
        }
        if (!self.body.is_empty() || self.method.has_body()) && !given("content-length") {
            let _ = write!(head, "Content-Length: {}\r\n", self.body.len());
        }
        head.push_str("\r\n");
        let mut bytes = head.into_bytes();
        bytes.extend_from_slice(self.body);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_rendered_with_host_headers_and_length() {
        let headers = [("Accept".to_owned(), "text/plain".to_owned())];
        let request = Request {
            method: Method::Post,
            host: "h:1",
            path: "/a?b=c",
            headers: &headers,
            body: b"xyz",
        };
        let expected =
            "POST /a?b=c HTTP/1.1\r\nHost: h:1\r\nAccept: text/plain\r\nContent-Length: 3\r\n\r\nxyz";
        assert_eq!(String::from_utf8(request.render()).unwrap(), expected);
    }

    #[test]
    fn a_post_without_a_body_says_that_its_length_is_zero() {
        let request = Request {
            method: Method::Post,
            host: "h",
            path: "/",
            headers: &[],
            body: b"",
        };
        assert!(
            String::from_utf8(request.render())
                .unwrap()
                .contains("Content-Length: 0\r\n")
        );
    }

    #[test]
    fn a_host_that_is_given_is_not_written_twice() {
        let headers = [("host".to_owned(), "other".to_owned())];
        let request = Request {
            method: Method::Get,
            host: "h",
            path: "/",
            headers: &headers,
            body: b"",
        };
        assert_eq!(
            String::from_utf8(request.render()).unwrap(),
            "GET / HTTP/1.1\r\nhost: other\r\n\r\n"
        );
    }
}
