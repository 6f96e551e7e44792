//! What the head of an answer says about its status, its body and its connection.

use crate::Failure;
use std::mem::MaybeUninit;

/// How many header lines an answer may have.
const HEADERS: usize = 128;

/// How the end of a body is found (RFC 9112, section 6.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// This many bytes, possibly none.
    Length(u64),
    /// Chunks, until the empty one.
    Chunked,
    /// Everything until the server closes the connection.
    UntilClose,
}

/// The head of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// Its status.
    pub status: u16,
    /// How the body ends.
    pub framing: Framing,
    /// Whether the connection can carry another request afterwards.
    pub keep_alive: bool,
    /// How many bytes the head has.
    pub bytes: usize,
}

/// What the header lines said, before it is put together.
#[derive(Default)]
struct Lines {
    length: Option<u64>,
    chunked: bool,
    coded: bool,
    close: bool,
    keep_alive: bool,
}

impl Head {
    /// Reads a head from the beginning of `input`; `None` when it is not complete yet.
    ///
    /// # Errors
    /// [`Failure::Malformed`] when it isn't HTTP/1 or contradicts itself, [`Failure::TooLarge`] when it has too many lines.
    pub fn parse(input: &[u8], to_head_request: bool) -> Result<Option<Self>, Failure> {
        let mut headers = [const { MaybeUninit::uninit() }; HEADERS];
        let mut response = httparse::Response::new(&mut []);
        let parsed = httparse::ParserConfig::default().parse_response_with_uninit_headers(
            &mut response,
            input,
            &mut headers,
        );
        let bytes = match parsed {
            Ok(httparse::Status::Complete(bytes)) => bytes,
            Ok(httparse::Status::Partial) => return Ok(None),
            Err(httparse::Error::TooManyHeaders) => return Err(Failure::TooLarge),
            Err(_) => return Err(Failure::Malformed),
        };
        let lines = Lines::read(response.headers)?;
        let status = response.code.unwrap_or(0);
        let framing = lines.framing(status, to_head_request);
        let keep_alive = lines.keeps_alive(response.version == Some(1)) && framing != Framing::UntilClose;
        Ok(Some(Self {
            status,
            framing,
            keep_alive,
            bytes,
        }))
    }
}

impl Lines {
    fn read(headers: &[httparse::Header<'_>]) -> Result<Self, Failure> {
        let mut lines = Self::default();
        for header in headers {
            // Lengths first: they distinguish most names, and comparing costs time on every answer.
            match header.name.len() {
                10 if header.name.eq_ignore_ascii_case("connection") => lines.connection(header.value),
                14 if header.name.eq_ignore_ascii_case("content-length") => {
                    lines.content_length(header.value)?
                }
                17 if header.name.eq_ignore_ascii_case("transfer-encoding") => {
                    lines.transfer_encoding(header.value)
                }
                _ => {}
            }
        }
        Ok(lines)
    }

    fn connection(&mut self, value: &[u8]) {
        for token in value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii) {
            self.close |= token.eq_ignore_ascii_case(b"close");
            self.keep_alive |= token.eq_ignore_ascii_case(b"keep-alive");
        }
    }

    fn content_length(&mut self, value: &[u8]) -> Result<(), Failure> {
        for part in value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii) {
            let length = whole_number(part).ok_or(Failure::Malformed)?;
            if self.length.is_some_and(|before| before != length) {
                return Err(Failure::Malformed);
            }
            self.length = Some(length);
        }
        Ok(())
    }

    fn transfer_encoding(&mut self, value: &[u8]) {
        self.coded = true;
        let last = value.rsplit(|byte| *byte == b',').next().unwrap_or_default();
        self.chunked = last.trim_ascii().eq_ignore_ascii_case(b"chunked");
    }

    fn framing(&self, status: u16, to_head_request: bool) -> Framing {
        if to_head_request || status == 204 || status == 304 || (100..200).contains(&status) {
            return Framing::Length(0);
        }
        match (self.coded, self.chunked, self.length) {
            (true, true, _) => Framing::Chunked,
            (true, false, _) | (false, _, None) => Framing::UntilClose,
            (false, _, Some(length)) => Framing::Length(length),
        }
    }

    /// A length with a transfer coding may be an attempt to smuggle: such a connection isn't used again.
    fn keeps_alive(&self, version_1_1: bool) -> bool {
        !self.close && (version_1_1 || self.keep_alive) && !(self.coded && self.length.is_some())
    }
}

/// A length as RFC 9110 writes it: digits only, where Rust's own parser would take a plus sign too.
fn whole_number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || digits.len() > 19 {
        return None;
    }
    digits.iter().try_fold(0u64, |sum, byte| {
        byte.is_ascii_digit().then(|| sum * 10 + u64::from(byte - b'0'))
    })
}

/// The header lines of a head that was kept, as names and values.
#[must_use]
pub fn headers_of(head: &[u8]) -> Vec<(&str, &[u8])> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS];
    let mut response = httparse::Response::new(&mut headers);
    match response.parse(head) {
        Ok(_) => response
            .headers
            .iter()
            .map(|header| (header.name, header.value))
            .collect(),
        Err(_) => Vec::new(),
    }
}
