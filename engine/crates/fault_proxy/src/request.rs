//! An HTTP/1.1 request that is not passed on: it is read to its end, so that the connection can continue after its
//! answer.

/// Headers of a request at most; one with more is answered, and its connection closed.
const HEADERS: usize = 128;
/// Bytes of a head at most.
const LONGEST_HEAD: usize = 64 * 1024;

/// How far a request has been read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Read {
    /// There is more to come.
    Part,
    /// It is over.
    Whole,
    /// Where it ends cannot be told.
    Endless,
}

/// A request on its way to nowhere.
#[derive(Debug, Default)]
pub struct Swallowed {
    head: Vec<u8>,
    /// Bytes of the body that are still to come, once the head is whole.
    body: Option<u64>,
}

impl Swallowed {
    /// Takes further bytes of it.
    pub fn take(&mut self, bytes: &[u8]) -> Read {
        if let Some(left) = self.body {
            return self.take_body(left, bytes.len());
        }
        self.head.extend_from_slice(bytes);
        match body_of(&self.head) {
            Ok(Some((head, length))) => self.take_body(length, self.head.len() - head),
            Ok(None) if self.head.len() < LONGEST_HEAD => Read::Part,
            _ => Read::Endless,
        }
    }

    fn take_body(&mut self, left: u64, arrived: usize) -> Read {
        let left = left.saturating_sub(arrived as u64);
        self.body = Some(left);
        if left == 0 { Read::Whole } else { Read::Part }
    }
}

/// The lengths of head and body, once the head is whole; an error when the body has no length.
fn body_of(bytes: &[u8]) -> Result<Option<(usize, u64)>, ()> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    let httparse::Status::Complete(head) = request.parse(bytes).map_err(|_| ())? else {
        return Ok(None);
    };
    let header = |name: &str| {
        request
            .headers
            .iter()
            .find(|header| header.name.eq_ignore_ascii_case(name))
    };
    if header("transfer-encoding").is_some() {
        return Err(());
    }
    let Some(length) = header("content-length") else {
        return Ok(Some((head, 0)));
    };
    let text = std::str::from_utf8(length.value).map_err(|_| ())?;
    let length = text.trim().parse().map_err(|_| ())?;
    Ok(Some((head, length)))
}

/// The answer that an aborted request gets; `last` tells the caller that the connection is over.
pub fn answer(status: u16, last: bool) -> Vec<u8> {
    let close = if last { "connection: close\r\n" } else { "" };
    format!("HTTP/1.1 {status} Fault Injected\r\ncontent-length: 0\r\n{close}\r\n").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GET: &[u8] = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n";
    const POST: &[u8] = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello";

    #[test]
    fn a_request_is_over_at_its_last_byte_however_it_is_cut() {
        for request in [GET, POST] {
            for cut in 1..request.len() {
                let mut swallowed = Swallowed::default();
                assert_eq!(swallowed.take(&request[..cut]), Read::Part, "{cut}");
                assert_eq!(swallowed.take(&request[cut..]), Read::Whole, "{cut}");
            }
        }
    }

    #[test]
    fn a_request_without_a_length_or_that_is_none_has_no_end() {
        for request in [
            &b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"[..],
            b"POST / HTTP/1.1\r\nContent-Length: many\r\n\r\n",
            b"\x16\x03\x01 hello",
        ] {
            assert_eq!(Swallowed::default().take(request), Read::Endless);
        }
    }
}
