//! Reading answers: a state machine that takes bytes and does no I/O.

use crate::Failure;
use crate::chunked::Chunked;
use crate::head::{Framing, Head};

/// How much of an answer is accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of all heads of one answer together, informational ones included.
    pub head: usize,
    /// Bytes of the body. They are skipped, not kept, so that this bounds time rather than memory.
    pub body: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            head: 64 * 1024,
            body: 1 << 30,
        }
    }
}

/// What is known of an answer before it comes, and what is wanted of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Expected {
    /// The request was HEAD: there is no body, whatever the head says.
    pub to_head_request: bool,
    /// Keep the head for [`AnswerParser::head`].
    pub keep_head: bool,
    /// Keep so many bytes of the body for [`AnswerParser::body`].
    pub keep_body: usize,
}

/// A complete answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    /// Its status.
    pub status: u16,
    /// Bytes of its body, without head and framing.
    pub bytes: u64,
    /// Whether the connection can carry another request.
    pub keep_alive: bool,
}

#[derive(Debug, Clone)]
enum State {
    Head,
    Length(u64),
    Chunked(Chunked),
    UntilClose,
    Done,
}

/// Reads one answer after another from the bytes of a connection.
#[derive(Debug, Clone)]
pub struct AnswerParser {
    limits: Limits,
    expected: Expected,
    state: State,
    answer: Answer,
    /// The unfinished head; afterwards the head, when it is to be kept.
    head: Vec<u8>,
    /// Bytes of informational heads before this one.
    head_before: usize,
    body: Vec<u8>,
}

impl AnswerParser {
    /// A parser within limits, waiting for its first answer.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        let answer = Answer {
            status: 0,
            bytes: 0,
            keep_alive: false,
        };
        let expected = Expected::default();
        Self {
            limits,
            expected,
            state: State::Head,
            answer,
            head: Vec::new(),
            head_before: 0,
            body: Vec::new(),
        }
    }

    /// Prepares for the next answer and forgets the last.
    pub fn begin(&mut self, expected: Expected) {
        self.expected = expected;
        self.state = State::Head;
        self.answer = Answer {
            status: 0,
            bytes: 0,
            keep_alive: false,
        };
        self.head_before = 0;
        forget(&mut self.head);
        forget(&mut self.body);
    }

    /// The kept head of the answer, empty unless [`Expected::keep_head`] asked for it.
    #[must_use]
    pub fn head(&self) -> &[u8] {
        &self.head
    }

    /// The kept part of the body, at most [`Expected::keep_body`] bytes.
    #[must_use]
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// Takes bytes from the connection; returns the answer when it is complete.
    ///
    /// Bytes after the end of an answer are not the answer to anything: the answer then says that the connection can't be kept.
    ///
    /// # Errors
    /// [`Failure::Malformed`] or [`Failure::TooLarge`]; the connection is of no use afterwards.
    pub fn feed(&mut self, input: &[u8]) -> Result<Option<Answer>, Failure> {
        let mut rest = input;
        while !rest.is_empty() && !self.is_done() {
            let taken = if matches!(self.state, State::Head) {
                self.feed_head(rest)?
            } else {
                self.feed_body(rest)?
            };
            rest = &rest[taken..];
        }
        if !self.is_done() {
            return Ok(None);
        }
        self.answer.keep_alive &= rest.is_empty();
        Ok(Some(self.answer))
    }

    /// The connection was closed by the server: the end of an answer without a length, a failure for any other.
    ///
    /// # Errors
    /// [`Failure::Closed`] when the answer was not complete.
    pub fn closed(&mut self) -> Result<Answer, Failure> {
        match self.state {
            State::UntilClose | State::Done => Ok(self.answer),
            _ => Err(Failure::Closed),
        }
    }

    fn is_done(&self) -> bool {
        matches!(self.state, State::Done)
    }

    fn feed_head(&mut self, input: &[u8]) -> Result<usize, Failure> {
        if !self.head.is_empty() {
            return self.feed_unfinished_head(input);
        }
        if input[0] != b'H' {
            return Err(Failure::Malformed);
        }
        match Head::parse(input, self.expected.to_head_request)? {
            Some(head) => {
                self.accept(head, &input[..head.bytes])?;
                Ok(head.bytes)
            }
            None => {
                self.keep_unfinished(input)?;
                Ok(input.len())
            }
        }
    }

    /// Looks for the end of a head before parsing it, so that a head that drips in byte by byte isn't parsed at every byte.
    fn feed_unfinished_head(&mut self, input: &[u8]) -> Result<usize, Failure> {
        let before = self.head.len();
        let from = before.saturating_sub(2);
        self.keep_unfinished(input)?;
        if !has_blank_line(&self.head[from..]) {
            return Ok(input.len());
        }
        let Some(head) = Head::parse(&self.head, self.expected.to_head_request)? else {
            return Err(Failure::Malformed);
        };
        let mut kept = std::mem::take(&mut self.head);
        kept.truncate(head.bytes);
        self.accept(head, &kept)?;
        Ok(head.bytes - before)
    }

    /// What doesn't fit may belong to the body already; but then the end of the head is within what fits.
    fn keep_unfinished(&mut self, input: &[u8]) -> Result<(), Failure> {
        let room = self
            .limits
            .head
            .saturating_sub(self.head_before + self.head.len());
        self.head.extend_from_slice(&input[..room.min(input.len())]);
        let ended = input.len() <= room || has_blank_line(&self.head);
        if ended { Ok(()) } else { Err(Failure::TooLarge) }
    }

    fn accept(&mut self, head: Head, text: &[u8]) -> Result<(), Failure> {
        self.head.clear();
        if self.head_before + head.bytes > self.limits.head {
            return Err(Failure::TooLarge);
        }
        if (100..200).contains(&head.status) {
            return self.skip_informational(head);
        }
        if self.expected.keep_head {
            self.head.extend_from_slice(text);
        }
        self.answer = Answer {
            status: head.status,
            bytes: 0,
            keep_alive: head.keep_alive,
        };
        self.state = match head.framing {
            Framing::Length(0) => State::Done,
            Framing::Length(length) if length > self.limits.body => return Err(Failure::TooLarge),
            Framing::Length(length) => State::Length(length),
            Framing::Chunked => State::Chunked(Chunked::new()),
            Framing::UntilClose => State::UntilClose,
        };
        Ok(())
    }

    /// Nobody asked to switch protocols, so 101 is no answer; other informational heads precede the real one.
    fn skip_informational(&mut self, head: Head) -> Result<(), Failure> {
        if head.status == 101 {
            return Err(Failure::Malformed);
        }
        self.head_before += head.bytes;
        Ok(())
    }

    fn feed_body(&mut self, input: &[u8]) -> Result<usize, Failure> {
        let Self {
            state,
            answer,
            body,
            expected,
            limits,
            ..
        } = self;
        let mut take = |data: &[u8]| {
            answer.bytes += data.len() as u64;
            let room = expected.keep_body - body.len();
            body.extend_from_slice(&data[..data.len().min(room)]);
        };
        let (taken, done) = match state {
            State::Length(remaining) => {
                let wanted = usize::try_from(*remaining).unwrap_or(usize::MAX).min(input.len());
                take(&input[..wanted]);
                *remaining -= wanted as u64;
                (wanted, *remaining == 0)
            }
            State::Chunked(chunked) => (chunked.feed(input, &mut take)?, chunked.is_done()),
            _ => {
                take(input);
                (input.len(), false)
            }
        };
        if answer.bytes > limits.body {
            return Err(Failure::TooLarge);
        }
        if done {
            *state = State::Done;
        }
        Ok(taken)
    }
}

/// Empties a buffer, and gives its memory back when an answer has made it large: there may be thousands of connections.
fn forget(buffer: &mut Vec<u8>) {
    const SMALL: usize = 64 * 1024;
    buffer.clear();
    buffer.shrink_to(SMALL);
}

fn has_blank_line(text: &[u8]) -> bool {
    memchr::memchr_iter(b'\n', text).any(|at| {
        let rest = &text[at + 1..];
        rest.starts_with(b"\n") || rest.starts_with(b"\r\n")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SMALL: Limits = Limits {
        head: 512,
        body: 4096,
    };

    fn parse(text: &[u8], expected: Expected) -> Result<Option<Answer>, Failure> {
        let mut parser = AnswerParser::new(SMALL);
        parser.begin(expected);
        parser.feed(text)
    }

    fn answer(text: &str) -> Answer {
        parse(text.as_bytes(), Expected::default()).unwrap().unwrap()
    }

    fn failure(text: &str) -> Failure {
        parse(text.as_bytes(), Expected::default()).unwrap_err()
    }

    #[test]
    fn an_answer_with_a_length_ends_after_it() {
        let expected = Answer {
            status: 200,
            bytes: 5,
            keep_alive: true,
        };
        assert_eq!(
            answer("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"),
            expected
        );
    }

    #[test]
    fn a_chunked_answer_counts_its_data_only() {
        let text = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;x=y\r\nhello\r\nA\r\n0123456789\r\n0\r\nT: x\r\n\r\n";
        assert_eq!(
            answer(text),
            Answer {
                status: 200,
                bytes: 15,
                keep_alive: true
            }
        );
    }

    #[test]
    fn statuses_without_a_body_end_with_their_head() {
        for status in [204, 304] {
            let text = format!("HTTP/1.1 {status} X\r\nContent-Length: 5\r\n\r\n");
            assert_eq!(
                answer(&text),
                Answer {
                    status,
                    bytes: 0,
                    keep_alive: true
                }
            );
        }
    }

    #[test]
    fn an_answer_to_head_has_no_body_whatever_it_says() {
        let expected = Expected {
            to_head_request: true,
            ..Expected::default()
        };
        let answer = parse(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", expected)
            .unwrap()
            .unwrap();
        assert_eq!((answer.bytes, answer.keep_alive), (0, true));
    }

    #[test]
    fn informational_answers_are_skipped() {
        let text = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 201 Made\r\nContent-Length: 0\r\n\r\n";
        assert_eq!(answer(text).status, 201);
    }

    #[test]
    fn informational_answers_without_end_are_too_large() {
        assert_eq!(
            failure(&"HTTP/1.1 100 Continue\r\n\r\n".repeat(100)),
            Failure::TooLarge
        );
    }

    #[test]
    fn an_answer_without_a_length_ends_with_the_connection() {
        let mut parser = AnswerParser::new(SMALL);
        parser.begin(Expected::default());
        assert_eq!(parser.feed(b"HTTP/1.1 200 OK\r\n\r\nsome").unwrap(), None);
        assert_eq!(
            parser.closed(),
            Ok(Answer {
                status: 200,
                bytes: 4,
                keep_alive: false
            })
        );
    }

    #[test]
    fn a_connection_closed_early_is_a_failure() {
        for text in [
            "",
            "HTTP/1.1 200",
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell",
        ] {
            let mut parser = AnswerParser::new(SMALL);
            parser.begin(Expected::default());
            parser.feed(text.as_bytes()).unwrap();
            assert_eq!(parser.closed(), Err(Failure::Closed));
        }
    }

    #[test]
    fn connections_are_kept_as_version_and_header_say() {
        let kept = |version: &str, header: &str| {
            answer(&format!(
                "HTTP/{version} 200 OK\r\nContent-Length: 0\r\n{header}\r\n"
            ))
            .keep_alive
        };
        assert!(kept("1.1", "") && kept("1.0", "Connection: keep-alive\r\n"));
        assert!(!kept("1.0", "") && !kept("1.1", "Connection: x, Close\r\n"));
    }

    #[test]
    fn a_length_beside_chunks_is_read_as_chunks_on_a_connection_that_is_not_kept() {
        let text =
            "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n";
        assert_eq!(
            answer(text),
            Answer {
                status: 200,
                bytes: 1,
                keep_alive: false
            }
        );
    }

    #[test]
    fn bytes_after_the_end_cost_the_connection() {
        assert!(!answer("HTTP/1.1 204 X\r\n\r\nHTTP/1.1 200 OK\r\n").keep_alive);
    }

    #[test]
    fn what_contradicts_itself_is_malformed() {
        for text in [
            "SSH-2.0-OpenSSH\r\n",
            "HTTP/2 200\r\n\r\n",
            "HTTP/1.1 101 X\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n11111111111111111\r\n",
        ] {
            assert_eq!(failure(text), Failure::Malformed, "{text}");
        }
    }

    #[test]
    fn what_exceeds_the_limits_is_too_large() {
        let long_head = format!("HTTP/1.1 200 OK\r\nX: {}\r\n\r\n", "x".repeat(600));
        let many_lines = format!("HTTP/1.1 200 OK\r\n{}\r\n", "A: b\r\n".repeat(130));
        let chunks = format!(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{}",
            format!("800\r\n{}\r\n", "x".repeat(2048)).repeat(3)
        );
        for text in [
            &long_head,
            &many_lines,
            &chunks,
            "HTTP/1.1 200 OK\r\nContent-Length: 4097\r\n\r\n",
        ] {
            assert_eq!(failure(text), Failure::TooLarge);
        }
        let endless = format!("HTTP/1.1 200 OK\r\n\r\n{}", "x".repeat(5000));
        assert_eq!(failure(&endless), Failure::TooLarge);
    }

    #[test]
    fn head_and_body_are_kept_when_asked_for() {
        let mut parser = AnswerParser::new(SMALL);
        parser.begin(Expected {
            to_head_request: false,
            keep_head: true,
            keep_body: 3,
        });
        parser
            .feed(b"HTTP/1.1 200 OK\r\nSet-Cookie: a=b\r\nContent-Length: 5\r\n\r\nhello")
            .unwrap();
        assert_eq!(parser.body(), b"hel");
        assert_eq!(crate::headers_of(parser.head())[0], ("Set-Cookie", &b"a=b"[..]));
    }

    /// What a server may send, well-formed or nearly.
    fn answers() -> impl Strategy<Value = Vec<u8>> {
        let part = prop_oneof![
            Just(b"HTTP/1.1 200 OK\r\n".to_vec()),
            Just(b"HTTP/1.1 100 Continue\r\n\r\n".to_vec()),
            Just(b"Content-Length: 7\r\n".to_vec()),
            Just(b"Transfer-Encoding: chunked\r\n".to_vec()),
            Just(b"Connection: close\r\n".to_vec()),
            Just(b"\r\n".to_vec()),
            Just(b"3\r\nabc\r\n".to_vec()),
            Just(b"0\r\n\r\n".to_vec()),
            Just(b"\n".to_vec()),
            proptest::collection::vec(any::<u8>(), 0..40),
        ];
        proptest::collection::vec(part, 0..14).prop_map(|parts| parts.concat())
    }

    /// What comes of an answer that arrives in pieces, after which the server closes. Which failure it is may depend
    /// on the pieces (a head that can't become one is noticed at its end when it drips in), that it is one may not.
    fn fed(text: &[u8], pieces: &[usize]) -> Option<(Answer, Vec<u8>)> {
        let mut parser = AnswerParser::new(SMALL);
        parser.begin(Expected {
            to_head_request: false,
            keep_head: false,
            keep_body: 64,
        });
        let mut rest = text;
        let mut sizes = pieces.iter().cycle();
        while !rest.is_empty() && !parser.is_done() {
            let (piece, after) = rest.split_at((*sizes.next()?).min(rest.len()));
            rest = after;
            parser.feed(piece).ok()?;
        }
        let answer = parser.closed().ok()?;
        // Whether the connection is kept depends on what has come after the end, so on the pieces.
        Some((
            Answer {
                keep_alive: false,
                ..answer
            },
            parser.body().to_vec(),
        ))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn it_does_not_matter_into_which_pieces_an_answer_falls(text in answers(), pieces in proptest::collection::vec(1usize..20, 1..5)) {
            prop_assert_eq!(fed(&text, &[usize::MAX]), fed(&text, &pieces));
        }

        #[test]
        fn no_server_makes_the_parser_panic_or_keep_more_than_its_limits(text in proptest::collection::vec(any::<u8>(), 0..4000)) {
            let mut parser = AnswerParser::new(SMALL);
            parser.begin(Expected { to_head_request: false, keep_head: true, keep_body: 64 });
            for piece in [&b"HTTP/1.1 200 OK\r\n"[..], &text, &text] {
                if parser.feed(piece).is_err() {
                    break;
                }
                prop_assert!(parser.head().len() <= SMALL.head && parser.body().len() <= 64);
            }
        }
    }
}
