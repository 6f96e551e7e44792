"""The observer of traces: it collects the spans of a round and counts the calls in them."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext

from patternbench.lab.announced import RECEIVER
from patternbench.observe.seam import Observer, RoundFiles, Settings, WatchedRound
from patternbench.observe.warning import RoundWarning
from patternbench.study.watching import Watch, share_of
from patternbench.terms.responses import Response
from patternbench.traces import responses
from patternbench.traces.collecting import SpansOfRound, collected
from patternbench.traces.exported import TABLES
from patternbench.traces.records.collected import TracedRound, read


class TraceObserver(Observer[TracedRound]):
    """Watches a traced system: the environment has started a receiver, and announced it to components."""

    name = "traces"
    responses = responses.RESPONSES
    tables = TABLES

    def responses_of(self, watch: Watch) -> Sequence[Response]:
        """Return counts and times, where traces are asked for."""
        return self.responses if watch.traces else ()

    def watch(self, watched: WatchedRound) -> AbstractContextManager[object]:
        """Have the receiver keep the spans of the round."""
        traces = watched.watch.traces
        if traces is None or RECEIVER not in watched.endpoints:
            return nullcontext()
        # Who sends to a port that the study names may live on another machine, by another clock.
        since_ns = 0 if traces.placed else time.time_ns()
        own_clock = not traces.placed
        spans = SpansOfRound(share_of(traces.sample.level), since_ns, lambda: _end_of_warm_up(watched, own_clock))
        return collected(watched.endpoints[RECEIVER], spans, watched.folder, time.monotonic, time.sleep)

    def read(self, kept: RoundFiles) -> TracedRound | None:
        """Return the spans of a round, when it was traced."""
        return read(kept)

    def warnings(self, seen: TracedRound) -> list[RoundWarning]:
        """Whether spans are missing."""
        return list(responses.warnings(seen))

    def measured(self, seen: TracedRound, settings: Settings) -> dict[str, float]:
        """Return calls by type and where the time goes."""
        return responses.of_round(seen)


def _end_of_warm_up(watched: WatchedRound, own_clock: bool) -> int:
    """Return the end of the warm-up in Unix time (ns); 0 where that is not known by the clock of the spans."""
    known = own_clock and math.isfinite(watched.load.measured_from)
    return int(watched.load.measured_from * NS_PER_S) if known else 0


NS_PER_S = 1_000_000_000
OBSERVER = TraceObserver()
