"""Asks the receiver for the spans of a round: tells it when the round begins, and waits for the last ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from patternbench import asking
from patternbench.observe.seam import ObservationError
from patternbench.traces.records.collected import COUNTS, SPANS, SpanCounts

QUIET_S = 0.6
"""How long nothing must have come for the round to be over: three times what an exporter holds spans back."""
MOST_S = 15.0
"""How long we wait at most for exporters that continue to send."""
GLANCE_S = 0.1
ANSWER_S = 10.0
SPANS_S = 120.0
"""How long the spans of a round may take: they may be many, and come from our own receiver."""


@dataclass(frozen=True)
class SpansOfRound:
    """Which spans are those of a round: the share of its requests that is traced, and from when on (Unix time, ns).

    ``measured_from_ns`` is asked once the load is over: the end of its warm-up, or 0 where spans have another clock.
    """

    share: float
    since_ns: int = 0
    measured_from_ns: Callable[[], int] = lambda: 0


@contextmanager
def collected(
    url: str, spans: SpansOfRound, folder: Path, clock: Callable[[], float], pause: Callable[[float], None]
) -> Iterator[None]:
    """Have the receiver at a URL keep what comes within, then put it into a folder. Raises ObservationError."""
    with asking.client(asking.Bounds(ANSWER_S), base_url=url) as client:
        with _explained(url):
            client.post("/round", params={"since_ns": spans.since_ns}).raise_for_status()
        yield
        with _explained(url):
            _await_quiet(client, clock, pause)
            _fetch(client, spans, folder)


def _fetch(client: httpx.Client, spans: SpansOfRound, folder: Path) -> None:
    """End the round at the receiver, and take from it what came."""
    counts = _counts(client.delete("/round"), spans.share)
    counts = counts.model_copy(update={"measured_from_ns": spans.measured_from_ns()})
    folder.mkdir(parents=True)
    with (
        asking.client(asking.Bounds(SPANS_S, asking.UNBOUNDED), base_url=str(client.base_url)) as long,
        (folder / SPANS).open("wb") as file,
        long.stream("GET", "/round/spans") as answer,
    ):
        for piece in answer.raise_for_status().iter_bytes():
            file.write(piece)
    (folder / COUNTS).write_text(counts.model_dump_json(), "utf-8")


@contextmanager
def _explained(url: str) -> Iterator[None]:
    try:
        yield
    except httpx.HTTPError as error:
        raise ObservationError(f"the receiver of traces at {url}: {error or type(error).__name__}") from None


def _await_quiet(client: httpx.Client, clock: Callable[[], float], pause: Callable[[float], None]) -> None:
    """Return when nothing has come for a while, or it continues for too long."""
    begun = quiet_since = clock()
    before = -1
    while clock() - begun < MOST_S:
        came = _counts(client.get("/round"), 1.0).spans
        if came != before:
            before, quiet_since = came, clock()
        if clock() - quiet_since >= QUIET_S:
            return
        pause(GLANCE_S)


def _counts(answer: httpx.Response, share: float) -> SpanCounts:
    return SpanCounts.model_validate({"share": share, **answer.raise_for_status().json()})
