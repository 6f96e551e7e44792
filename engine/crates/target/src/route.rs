//! What a path asks for: read once, at the edge.

use hyper::StatusCode;
use patternbench_timing::{Nanos, S, parse_duration, write_duration};

/// The most bytes that `/bytes/{n}` gives: 10 MB.
pub const MOST_BYTES: usize = 10_000_000;
const LONGEST_DELAY: Nanos = 60 * S;

/// What the path of a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route {
    /// This many seeded random bytes.
    Bytes(usize),
    /// An empty answer with this status.
    Status(StatusCode),
    /// An answer after this time, instead of a drawn service time.
    Delay(Nanos),
    /// The request itself, as JSON.
    Anything,
    /// Whether the target is up: without queue or service time, not counted.
    Health,
    /// How the target is doing: without queue or service time, not counted.
    Stats,
    /// Everything that it was asked is to be given up: without queue or service time, not counted.
    Drop,
}

/// Why a path cannot be served: the status and one sentence.
#[derive(Debug, PartialEq, Eq)]
pub struct Refusal(pub StatusCode, pub String);

/// Reads a path.
///
/// # Errors
/// 404 with the list of endpoints for an unknown one, 400 with what is allowed for a wrong argument.
pub fn route(path: &str) -> Result<Route, Refusal> {
    let mut parts = path.splitn(3, '/').skip(1);
    let (name, argument) = (parts.next().unwrap_or(""), parts.next());
    match (name, argument) {
        ("bytes", Some(n)) => bytes(n),
        ("status", Some(code)) => status(code),
        ("delay", Some(duration)) => delay(duration),
        ("anything", _) => Ok(Route::Anything),
        ("health", None) => Ok(Route::Health),
        ("stats", None) => Ok(Route::Stats),
        ("drop", None) => Ok(Route::Drop),
        _ => Err(Refusal(StatusCode::NOT_FOUND, unknown(path))),
    }
}

fn unknown(path: &str) -> String {
    format!(
        "no endpoint {path}: /bytes/{{n}}, /status/{{code}}, /delay/{{duration}}, /anything, /health, /stats, /drop"
    )
}

fn bad(message: String) -> Refusal {
    Refusal(StatusCode::BAD_REQUEST, message)
}

fn bytes(text: &str) -> Result<Route, Refusal> {
    match text.parse() {
        Ok(n) if n <= MOST_BYTES => Ok(Route::Bytes(n)),
        _ => Err(bad(format!(
            "/bytes/{text}: a whole number from 0 to {MOST_BYTES}"
        ))),
    }
}

fn status(text: &str) -> Result<Route, Refusal> {
    match text.parse::<u16>().map(StatusCode::from_u16) {
        Ok(Ok(code)) if (200..600).contains(&code.as_u16()) => Ok(Route::Status(code)),
        _ => Err(bad(format!("/status/{text}: a whole number from 200 to 599"))),
    }
}

/// A duration with a unit, or seconds without one as in httpbin, whose paths work here unchanged.
fn delay(text: &str) -> Result<Route, Refusal> {
    let with_unit = if text.parse::<f64>().is_ok() {
        format!("{text}s")
    } else {
        text.to_owned()
    };
    let most = write_duration(LONGEST_DELAY);
    match parse_duration(&with_unit) {
        Ok(delay) if delay <= LONGEST_DELAY => Ok(Route::Delay(delay)),
        Ok(_) => Err(bad(format!("/delay/{text}: at most {most}"))),
        Err(message) => Err(bad(format!("/delay/{text}: {message}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_endpoint_is_found() {
        assert_eq!(route("/bytes/1000"), Ok(Route::Bytes(1000)));
        assert_eq!(route("/bytes/10000000"), Ok(Route::Bytes(10_000_000)));
        assert_eq!(
            route("/status/503"),
            Ok(Route::Status(StatusCode::SERVICE_UNAVAILABLE))
        );
        assert_eq!(route("/delay/200ms"), Ok(Route::Delay(200_000_000)));
        assert_eq!(route("/delay/0.5"), Ok(Route::Delay(500_000_000)));
        assert_eq!(route("/anything"), Ok(Route::Anything));
        assert_eq!(route("/anything/at/all"), Ok(Route::Anything));
        assert_eq!(route("/health"), Ok(Route::Health));
        assert_eq!(route("/stats"), Ok(Route::Stats));
        assert_eq!(route("/drop"), Ok(Route::Drop));
    }

    #[test]
    fn what_cannot_be_served_is_refused_with_what_can() {
        let refused = |path| route(path).unwrap_err();
        for path in ["/", "/byte/1", "/bytes", "/health/x", "/drop/x", "*", ""] {
            assert_eq!(refused(path).0, StatusCode::NOT_FOUND, "{path}");
        }
        for path in [
            "/bytes/x",
            "/bytes/-1",
            "/bytes/10000001",
            "/status/100",
            "/status/600",
            "/delay/-1",
            "/delay/1h",
            "/delay/inf",
        ] {
            assert_eq!(refused(path).0, StatusCode::BAD_REQUEST, "{path}");
        }
        assert_eq!(
            refused("/bytes/x").1,
            "/bytes/x: a whole number from 0 to 10000000"
        );
    }
}
