"""Whatever a client sends, its check ends in findings: no answer of it stops the check or acts on the terminal."""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BufferedIOBase

import pytest

from patternbench.cli.check_client import _print
from patternbench.conformance.check import ALL_S, LONGEST_SEEN, ClientUnreachableError, Finding, check_client
from patternbench.conformance.trial import RULES

SAYS: dict[str, object] = {
    "contract": 1,
    "name": "odd",
    "version": "1",
    "language": "any",
    "library": {"name": "none", "version": "1"},
    "strategies": ["baseline", "retry", "circuit_breaker", "stack"],
}
NO_ROW = b'{"end": {"rows": 0, "duration_us": 1000, "cpu_us": 1}}\n'
ROW = b'{"batch": {"user": [0], "call": [0], "attempt": [1], "start_us": [0], "duration_us": [9], "outcome": [200]}}\n'
ONE_ROW = ROW + NO_ROW.replace(b'"rows": 0', b'"rows": 1')
DESCRIPTION = RULES[0].name
Descriptions = Callable[[int], bytes]


@contextmanager
def client(
    stream: bytes,
    describes: Descriptions = lambda _: json.dumps(SAYS).encode(),
    before_round: Callable[[BufferedIOBase], object] = lambda _: None,
) -> Iterator[str]:
    """A client that answers each round with a stream, at its URL; it says of itself what comes next.

    ``before_round`` is called before each round is answered, with the connection that it reads from.
    """
    requested = itertools.count()

    class Client(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.answer(describes(next(requested)))

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            if self.path == "/rounds":
                before_round(self.rfile)
            self.answer(stream if self.path == "/rounds" else b'{"problems": []}')

        def answer(self, body: bytes) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "application/x-ndjson")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Client) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()


LOOKED_INTO = ["time_limit_us", "batches come in time", "half-open probes", "nothing listens"]
"""Rules that looked for a first row, a first request or a text without asking whether there is one."""


@pytest.mark.parametrize("stream", [b"", NO_ROW, ONE_ROW, b"\xff\xfe\n", b"[" * 100_000, b"\0"], ids=range(6))
def test_rounds_without_rows_or_requests_and_rubbish_fail_the_rules_and_nothing_else(stream: bytes) -> None:
    with client(stream) as url:
        found = check_client(url, only=LOOKED_INTO)
    assert {one.rule: one.status for one in found} == {DESCRIPTION: "passed"} | dict.fromkeys(LOOKED_INTO, "failed")


def test_a_client_that_describes_itself_again_each_time_is_taken_at_the_word_that_was_checked() -> None:
    def describes(turn: int) -> bytes:
        return json.dumps(SAYS).encode() if turn < 2 else b"rubbish"

    with client(NO_ROW, describes) as url:
        assert [one.status for one in check_client(url, only=["time_limit_us"])] == ["passed", "failed"]


def test_what_a_client_says_is_written_out_and_cut(capsys: pytest.CaptureFixture[str]) -> None:
    odd = SAYS | {"version": "\x1b[2J\u202e" + "x" * 3000}
    with client(NO_ROW, lambda _: json.dumps(odd).encode()) as url:
        found = check_client(url, only=[])
    _print(found)
    printed = capsys.readouterr().out
    assert "\x1b" not in printed
    assert "\u202e" not in printed
    assert "\\x1b[2J\\u202e" in printed.replace("\n", "")
    assert len(found[0].seen) == LONGEST_SEEN


def test_rules_whose_turn_comes_after_five_minutes_are_not_tried() -> None:
    seen: list[Finding] = []
    with client(NO_ROW) as url:
        check_client(
            url, seen.append, only=["time_limit_us", "think_time_us"], clock=lambda: (ALL_S + 1.0) * (len(seen) > 1)
        )
    _, first, second = seen
    assert "not tried" not in first.seen
    assert (second.status, second.seen) == ("failed", "not tried: the rules before it took 5 min")


def test_a_rule_whose_answer_is_under_way_when_five_minutes_are_over_is_given_up_at_once() -> None:
    passed_s = [0.0]

    def is_silent(connection: BufferedIOBase) -> None:
        passed_s[0] = ALL_S + 1.0
        connection.read(1)  # until the check closes the connection

    with client(b"", before_round=is_silent) as url:
        _, first, second = check_client(url, only=["time_limit_us", "think_time_us"], clock=lambda: passed_s[0])
    assert (first.status, first.seen) == (
        "failed",
        "ReadError: given up; by then all rules together took more than 5 min",
    )
    assert second.seen == "not tried: the rules before it took 5 min"


def test_a_url_that_is_none_is_no_client() -> None:
    with pytest.raises(ClientUnreachableError, match="no client answers"):
        check_client(f"http://127.0.0.1:{'9' * 30}/")
