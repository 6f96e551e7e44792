//! Answers, well-formed and hostile, whole and in pieces.

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

/// By RFC 9112, 6.3, the last coding says where a body ends: a packed body that comes in chunks ends with them.
#[test]
fn the_last_of_several_codings_says_where_a_body_ends() {
    let chunks = "5\r\nhello\r\n0\r\n\r\n";
    for codings in ["gzip, chunked", "gzip,chunked", "gzip , Chunked "] {
        let text = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: {codings}\r\n\r\n{chunks}");
        assert_eq!(
            answer(&text),
            Answer {
                status: 200,
                bytes: 5,
                keep_alive: true
            },
            "{codings}"
        );
    }
    for codings in ["chunked, gzip", "gzip"] {
        let text = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: {codings}\r\n\r\n{chunks}");
        let until_close = parse(text.as_bytes(), Expected::default());
        assert!(
            matches!(until_close, Ok(None)),
            "{codings}: it ends with its connection"
        );
    }
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
        "HTTP/1.1 200 OK\r\nContent-Length: \r\n\r\n",
        // Twenty digits: one more than 2^64 would come round to a length of 5.
        "HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551621\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 00000000000000000005\r\n\r\nhello",
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
        "HTTP/1.1 200 OK\r\nContent-Length: 9999999999999999999\r\n\r\n",
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
