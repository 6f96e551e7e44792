"""What bundlers counted: kept as the difference over a round, and what it comes to."""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from patternbench.bundlers.observer import OBSERVER, BundlerCounts, SeenBundlers, table
from patternbench.lab.announced import STATUS
from patternbench.observe.seam import ObservationError, RoundFiles, WatchedRound

NOTHING = BundlerCounts(requests=0, calls=0, bundles=0, bundled=0, overflows=0, faults=0)
ONE = BundlerCounts(requests=20, calls=8, bundles=3, bundled=15, overflows=0, faults=0)
OTHER = BundlerCounts(requests=10, calls=7, bundles=1, bundled=4, overflows=2, faults=1)


@contextmanager
def answering(*pages: str) -> Iterator[str]:
    """A bundler that answers these pages of counts, one after another."""
    left = list(pages)

    class Status(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(left.pop(0).encode())

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Status) as server:
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            serving.join()


def watched(folder: Path, url: str) -> WatchedRound:
    return WatchedRound({"system": "http://127.0.0.1:9", f"bundler.{STATUS}": url}, folder / "kept")


def page(counts: BundlerCounts) -> str:
    return counts.model_dump_json()[:-1] + ',"changes":["0"]}'


def test_a_round_has_what_was_counted_between_its_beginning_and_its_end(tmp_path: Path) -> None:
    after = ONE.model_copy(update={"requests": 30, "faults": 1})
    with answering(page(OTHER), page(after)) as url, OBSERVER.watch(watched(tmp_path, url)):
        pass
    seen = OBSERVER.read(RoundFiles({}, tmp_path / "kept"))
    assert seen is not None
    assert seen.root["bundler"].requests == 20
    assert seen.root["bundler"].bundled == 11


def test_a_bundler_that_was_started_in_a_round_counts_from_nothing() -> None:
    assert OTHER.since(ONE) == OTHER
    assert ONE.since(NOTHING) == ONE


@pytest.mark.parametrize("answer", ["hello", "{}", page(ONE).replace("20", "-", 1)])
def test_a_bundler_that_does_not_say_what_it_counted_is_reported_before_the_load(tmp_path: Path, answer: str) -> None:
    silent = pytest.raises(ObservationError, match="doesn't report its counts")
    with answering(answer) as url, silent, OBSERVER.watch(watched(tmp_path, url)):
        raise AssertionError("load was put on")


def test_of_a_system_without_a_bundler_nothing_is_kept(tmp_path: Path) -> None:
    with OBSERVER.watch(WatchedRound({"system": "http://127.0.0.1:9"}, tmp_path / "kept")):
        pass
    assert OBSERVER.read(RoundFiles({}, tmp_path / "kept")) is None


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "bundlers.json").write_text('{"bundler": {"requests": "many"}}')
    with pytest.raises(ObservationError, match=r"bundlers\.json cannot be read"):
        OBSERVER.read(RoundFiles({}, tmp_path))


def test_what_is_saved_is_of_all_requests_to_all_bundlers_and_the_table_has_each() -> None:
    seen = SeenBundlers({"one": ONE, "other": OTHER})
    measured = OBSERVER.measured(seen, {})
    assert set(measured) == {response.name for response in OBSERVER.responses}
    assert measured["bundler_saved"] == pytest.approx(50.0)
    assert measured["bundler_size"] == pytest.approx(19 / 4)
    assert {"bundler": "other", "count": "overflows", "value": 2} in table(seen).to_dict("records")


def test_what_nothing_was_asked_of_saved_an_unknown_share() -> None:
    measured = OBSERVER.measured(SeenBundlers({"one": NOTHING}), {})
    assert math.isnan(measured["bundler_saved"])
    assert math.isnan(measured["bundler_size"])


def test_fullness_and_wait_are_of_all_bundlers_together_and_from_the_round_alone() -> None:
    one = ONE.model_copy(update={"full": 2, "waited_us": 80_000})
    other = OTHER.model_copy(update={"full": 1, "waited_us": 10_000})
    measured = OBSERVER.measured(SeenBundlers({"one": one, "other": other}), {})
    assert measured["bundler_full"] == pytest.approx(75.0)
    assert measured["bundler_wait"] == pytest.approx(0.003)
    after = other.model_copy(update={"requests": 30, "full": 5, "waited_us": 70_000})
    assert (after.since(other).full, after.since(other).waited_us) == (4, 60_000)


def test_rounds_that_were_kept_before_waits_were_counted_do_not_know_them(tmp_path: Path) -> None:
    older = {name: count for name, count in ONE if count is not None}
    assert "waited_us" not in older
    (tmp_path / "bundlers.json").write_text(json.dumps({"bundler": older}))
    seen = OBSERVER.read(RoundFiles({}, tmp_path))
    assert seen is not None
    measured = OBSERVER.measured(seen, {})
    assert (measured["bundler_requests"], measured["bundler_saved"]) == (20, pytest.approx(60.0))
    assert math.isnan(measured["bundler_full"])
    assert math.isnan(measured["bundler_wait"])
    assert set(OBSERVER.tables["bundlers"](seen)["count"]) == set(older)


def test_errors_of_the_filter_are_a_warning_of_the_round() -> None:
    assert OBSERVER.warnings(SeenBundlers({"one": ONE})) == []
    (warning,) = OBSERVER.warnings(SeenBundlers({"one": OTHER}))
    assert "failed 1 time," in warning.message
