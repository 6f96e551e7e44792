"""What is asked of the receiver of traces around a round, and when: the receiver is made up, and so is the time."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import orjson
import pytest

from patternbench.observe.seam import ObservationError
from patternbench.traces.collecting import GLANCE_S, MOST_S, QUIET_S, SpansOfRound, collected
from patternbench.traces.records.collected import COUNTS, SPANS, SpanCounts

COUNTED: dict[str, object] = {"requests": 1, "kept": 7, "refused": {}, "left_out": {}}


class MadeUpReceiver(HTTPServer):
    """Says how many spans have come, one number a time; it remembers what it was asked."""

    def __init__(self, came: Sequence[int], status: int = 200) -> None:
        super().__init__(("127.0.0.1", 0), _Answers)
        self.came, self.status, self.requested = iter(came), status, list[str]()


class _Answers(BaseHTTPRequestHandler):
    server: MadeUpReceiver

    def _answer(self) -> None:
        self.server.requested.append(f"{self.command} {self.path}")
        counts = {**COUNTED, "spans": next(self.server.came, 0) if self.command == "GET" else 7}
        content = b"spans" if self.path.endswith("/spans") else orjson.dumps(counts)
        self.send_response(self.server.status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_DELETE = _answer  # noqa: N815 - as the server's module calls them

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@contextmanager
def receiver(came: Sequence[int], status: int = 200) -> Iterator[tuple[MadeUpReceiver, str]]:
    with MadeUpReceiver(came, status) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server, f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


class Time:
    """A clock that only pauses move on."""

    def __init__(self) -> None:
        self.now = 0.0

    def clock(self) -> float:
        """Return the seconds that have passed."""
        return self.now

    def pause(self, seconds: float) -> None:
        """Let them pass."""
        self.now += seconds


def collect(url: str, folder: Path) -> Time:
    """Collect the spans of a round whose load takes no time."""
    time = Time()
    with collected(url, SpansOfRound(0.5, since_ns=3, measured_from_ns=lambda: 11), folder, time.clock, time.pause):
        pass
    return time


def test_the_round_ends_at_the_receiver_once_nothing_has_come_for_a_while(tmp_path: Path) -> None:
    still_coming = [0, 5, 6, 7]
    with receiver([*still_coming, *[7] * 1000]) as (made_up, url):
        time = collect(url, tmp_path / "traces")
    first, *glances, last, fetched = made_up.requested
    assert (first, last, fetched) == ("POST /round?since_ns=3", "DELETE /round", "GET /round/spans")
    assert set(glances) == {"GET /round"}
    assert time.now == pytest.approx((len(still_coming) - 1) * GLANCE_S + QUIET_S, abs=2 * GLANCE_S)


def test_exporters_that_never_end_are_waited_for_so_long_and_no_longer(tmp_path: Path) -> None:
    with receiver(range(10_000)) as (_, url):
        time = collect(url, tmp_path / "traces")
    assert time.now == pytest.approx(MOST_S, abs=2 * GLANCE_S)


def test_what_came_is_kept_with_its_counts_and_the_moment_from_which_it_is_measured(tmp_path: Path) -> None:
    with receiver([7] * 1000) as (_, url):
        collect(url, tmp_path / "traces")
    counts = SpanCounts.model_validate_json((tmp_path / "traces" / COUNTS).read_bytes())
    assert (counts.spans, counts.share, counts.measured_from_ns) == (7, 0.5, 11)
    assert (tmp_path / "traces" / SPANS).read_bytes() == b"spans"


def test_a_receiver_that_answers_with_an_error_is_named(tmp_path: Path) -> None:
    with (
        receiver([], status=500) as (_, url),
        pytest.raises(ObservationError, match=f"the receiver of traces at {url}"),
    ):
        collect(url, tmp_path / "traces")
