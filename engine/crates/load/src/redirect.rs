//! Where an answer sends a request on to, decided without sending anything.

use crate::job::Filled;
use fluent_uri::{Uri, UriRef};
use patternbench_wire::{Method, Target, headers_of, origin};
use std::fmt;

/// What a step sends to prove who it is: no redirect takes it to another origin, as in curl and browsers.
const SECRET: [&str; 3] = ["authorization", "cookie", "proxy-authorization"];

/// Why a redirect is not followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// As many as the step allows were followed before it.
    TooMany,
    /// It leads to a server that the job doesn't name.
    Foreign(String),
    /// Its `Location` isn't a URL.
    Unreadable(String),
}

impl Refusal {
    /// The names of all kinds, in the order of [`Refusal::kind`].
    pub const NAMES: [&str; 3] = ["too_many", "foreign", "unreadable"];

    /// Its number among [`Refusal::NAMES`].
    pub fn kind(&self) -> usize {
        match self {
            Self::TooMany => 0,
            Self::Foreign(_) => 1,
            Self::Unreadable(_) => 2,
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooMany => write!(f, "more redirects than the step follows"),
            Self::Foreign(origin) => write!(f, "the redirect leads to another server: {origin}"),
            Self::Unreadable(location) => write!(f, "the redirect leads nowhere: {location:?}"),
        }
    }
}

/// The `Location` of an answer that is a redirect (RFC 9110, section 15.4).
pub fn location(status: u16, head: &[u8]) -> Option<String> {
    if !matches!(status, 301 | 302 | 303 | 307 | 308) {
        return None;
    }
    let is_location = |(name, _): &(&str, &[u8])| name.eq_ignore_ascii_case("location");
    let (_, value) = headers_of(head).into_iter().find(is_location)?;
    Some(encoded(value.trim_ascii()))
}

/// What a redirect makes of a request to `targets[from]`, and which target it goes to.
///
/// # Errors
/// When it leads to a server that isn't one of the targets, or nowhere.
pub fn redirected(
    request: &Filled,
    from: usize,
    status: u16,
    location: &str,
    targets: &[(Target, u32)],
) -> Result<(Filled, usize), Refusal> {
    let to = resolved(request, &targets[from].0, location)
        .ok_or_else(|| Refusal::Unreadable(location.to_owned()))?;
    let authority = to.authority().map_or("", |authority| authority.as_str());
    let wanted = origin(to.scheme().as_str(), authority);
    let target = target_of(&wanted, request, from, targets).ok_or(Refusal::Foreign(wanted))?;
    let path = if to.path().as_str().is_empty() {
        "/"
    } else {
        to.path().as_str()
    };
    let query = to.query().map_or_else(String::new, |query| format!("?{query}"));
    let mut next = Filled {
        path: format!("{path}{query}"),
        ..request.clone()
    };
    if target != from {
        without(&mut next, |name| name == "host" || SECRET.contains(&name));
    }
    if becomes_get(status, request.method) {
        next.method = Method::Get;
        next.body.clear();
        without(&mut next, |name| {
            name.starts_with("content-") || name == "transfer-encoding"
        });
    }
    Ok((next, target))
}

/// After 301, 302 and 303 everybody asks with GET; 307 and 308 are there to keep the method (RFC 9110, section 15.4).
fn becomes_get(status: u16, method: Method) -> bool {
    matches!(status, 301..=303) && method != Method::Head
}

fn without(request: &mut Filled, unwanted: impl Fn(&str) -> bool) {
    request
        .headers
        .retain(|(name, _)| !unwanted(&name.to_ascii_lowercase()));
}

/// The absolute URL that a location means (RFC 3986, section 5), seen from a request.
fn resolved(request: &Filled, target: &Target, location: &str) -> Option<Uri<String>> {
    let path = encoded(request.path.as_bytes());
    let base = Uri::parse(format!("{}://{}{path}", target.scheme(), target.host)).ok()?;
    UriRef::parse(location).ok()?.resolve_against(&base).ok()
}

/// The target that has an origin: the present one before others. A server knows itself by the `Host` that it was called with.
fn target_of(wanted: &str, request: &Filled, from: usize, targets: &[(Target, u32)]) -> Option<usize> {
    let called = origin(targets[from].0.scheme(), request.authority(&targets[from].0));
    if called == wanted || targets[from].0.origin() == wanted {
        return Some(from);
    }
    targets.iter().position(|(target, _)| target.origin() == wanted)
}

/// Servers write what no URL may contain as it is; everybody reads it as if it were percent-encoded. Fragments are the reader's own.
fn encoded(text: &[u8]) -> String {
    let end = text.iter().position(|byte| *byte == b'#').unwrap_or(text.len());
    let keep = |byte: u8| byte.is_ascii_graphic() && !b"\"<>\\^`{|}".contains(&byte);
    text[..end].iter().fold(String::new(), |mut into, byte| {
        if keep(*byte) {
            into.push(char::from(*byte));
        } else {
            into.push_str(&format!("%{byte:02X}"));
        }
        into
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use patternbench_wire::TlsSettings;
    use proptest::prelude::*;
    use proptest::sample::select;

    fn targets() -> Vec<(Target, u32)> {
        let target = |url: &str| (Target::new(url, &TlsSettings::default()).unwrap(), 1);
        vec![
            target("http://127.0.0.1:8001/base"),
            target("http://127.0.0.1:8002"),
            target("unix:/run/app.sock"),
        ]
    }

    fn post() -> Filled {
        let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        Filled {
            method: Method::Post,
            path: "/base/a/b?x=1".to_owned(),
            headers: vec![
                header("Host", "shop.example"),
                header("Content-Type", "text/plain"),
                header("X-Token", "t"),
            ],
            body: "body".to_owned(),
        }
    }

    fn next(status: u16, location: &str) -> Result<(Filled, usize), Refusal> {
        redirected(&post(), 0, status, location, &targets())
    }

    #[test]
    fn locations_are_resolved_as_rfc_3986_says() {
        for (location, path) in [
            ("/c", "/c"),
            ("c", "/base/a/c"),
            ("../c?y=2#top", "/base/c?y=2"),
            ("?y=2", "/base/a/b?y=2"),
            ("", "/base/a/b?x=1"),
            ("http://127.0.0.1:8001", "/"),
            ("//shop.example/c", "/c"),
            ("http://SHOP.example:80/c", "/c"),
            ("/a b/ü", "/a%20b/%C3%BC"),
        ] {
            let location = encoded(location.as_bytes());
            let (request, target) = next(307, &location).unwrap();
            assert_eq!((request.path.as_str(), target), (path, 0), "{location}");
        }
    }

    #[test]
    fn a_seen_other_asks_with_get_and_without_what_described_the_body() {
        for status in [301, 302, 303] {
            let (request, _) = next(status, "/c").unwrap();
            assert_eq!((request.method, request.body.as_str()), (Method::Get, ""));
            let names: Vec<&str> = request.headers.iter().map(|(name, _)| name.as_str()).collect();
            assert_eq!(names, ["Host", "X-Token"]);
        }
    }

    #[test]
    fn temporary_and_permanent_redirects_keep_method_and_body() {
        for status in [307, 308] {
            let (request, _) = next(status, "/base/a/b?x=1").unwrap();
            assert_eq!(request, post());
        }
    }

    #[test]
    fn head_stays_head() {
        let head = Filled {
            method: Method::Head,
            ..post()
        };
        assert_eq!(
            redirected(&head, 0, 303, "/c", &targets()).unwrap().0.method,
            Method::Head
        );
    }

    #[test]
    fn another_target_is_called_by_its_own_name() {
        let (request, target) = next(307, "http://127.0.0.1:8002/c").unwrap();
        assert_eq!(target, 1);
        assert!(!request.headers.iter().any(|(name, _)| name == "Host"));
    }

    #[test]
    fn no_redirect_takes_what_proves_who_asks_to_another_origin() {
        let mut request = post();
        for name in ["authorization", "COOKIE", "Proxy-Authorization"] {
            request.headers.push((name.to_owned(), "secret".to_owned()));
        }
        let names = |location: &str| -> Vec<String> {
            let (next, _) = redirected(&request, 0, 307, location, &targets()).unwrap();
            next.headers.into_iter().map(|(name, _)| name).collect()
        };
        assert_eq!(names("http://127.0.0.1:8002/c"), ["Content-Type", "X-Token"]);
        for own in ["/c", "http://127.0.0.1:8001/c", "http://shop.example/c"] {
            assert_eq!(names(own).len(), 6, "{own}");
        }
    }

    #[test]
    fn what_is_no_target_is_not_gone_to() {
        for location in [
            "http://127.0.0.1:8003/",
            "https://127.0.0.1:8001/",
            "//elsewhere.example/",
            "http://127.0.0.1:8001@elsewhere.example/",
            "http://user@127.0.0.1:8001/",
            "ftp://127.0.0.1:8001/",
            "mailto:somebody@shop.example",
        ] {
            assert!(
                matches!(next(302, location), Err(Refusal::Foreign(_))),
                "{location}"
            );
        }
    }

    #[test]
    fn only_a_redirect_with_a_location_is_one() {
        let head = b"HTTP/1.1 302 X\r\nlocation:  /a b\r\n\r\n";
        assert_eq!(location(302, head).as_deref(), Some("/a%20b"));
        assert_eq!(location(304, head), None);
        assert_eq!(location(302, b"HTTP/1.1 302 X\r\n\r\n"), None);
    }

    /// Schemes and authorities as servers and attackers write them, each with what it means, and what comes behind.
    const SCHEMES: &[(&str, &str)] = &[
        ("http:", "http"),
        ("HTTP:", "http"),
        ("", "http"),
        ("https:", "https"),
        ("ftp:", "ftp"),
    ];
    const AUTHORITIES: &[(&str, &str)] = &[
        ("127.0.0.1:8001", "127.0.0.1:8001"),
        ("127.0.0.1:8002", "127.0.0.1:8002"),
        ("shop.example", "shop.example:80"),
        ("SHOP.example:80", "shop.example:80"),
        ("shop.example:", "shop.example:80"),
        ("127.0.0.1", "127.0.0.1:80"),
        ("127.0.0.1:8003", "127.0.0.1:8003"),
        ("evil.example", "evil.example"),
        ("evil.example:8001", "evil.example"),
        ("shop.example.evil.example", "evil.example"),
        ("127.0.0.1:8001@evil.example", "evil.example"),
        ("evil.example@127.0.0.1:8001", "somebody"),
        ("[::1]:8001", "[::1]:8001"),
    ];
    const BEHIND: &[&str] = &[
        "",
        "/",
        "/c",
        "/c?x=http://evil.example",
        "?y=2",
        "/../../c",
        "/@evil.example/",
        "#top",
    ];
    const REDIRECTS: &[u16] = &[301, 302, 303, 307, 308];

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn no_location_leads_anywhere_but_to_a_target(
            scheme in select(SCHEMES), authority in select(AUTHORITIES), behind in select(BEHIND), status in select(REDIRECTS),
        ) {
            let location = format!("{}//{}{behind}", scheme.0, authority.0);
            let meant = match (scheme.1, authority.1) {
                ("http", "127.0.0.1:8001" | "shop.example:80") => Some(0),
                ("http", "127.0.0.1:8002") => Some(1),
                _ => None,
            };
            let gone_to = next(status, &encoded(location.as_bytes())).ok().map(|(_, target)| target);
            prop_assert_eq!(gone_to, meant, "{}", location);
        }

        #[test]
        fn no_location_breaks_the_line_of_the_request(bytes in proptest::collection::vec(any::<u8>(), 0..60), status in 301u16..309) {
            if let Ok((request, _)) = next(status, &encoded(&bytes)) {
                prop_assert!(request.path.starts_with('/'));
                prop_assert!(request.path.bytes().all(|byte| byte.is_ascii_graphic()), "{}", request.path);
            }
        }
    }
}
