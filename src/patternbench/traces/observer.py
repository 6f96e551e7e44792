"""The observer of traces: it collects the spans of a round and counts the calls in them."""

from __future__ import annotations

import importlib
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import pandas as pd

from patternbench.lab.tracing import RECEIVER
from patternbench.observe.doubt import Doubt
from patternbench.observe.response import Response
from patternbench.observe.seam import Kept, Observer, Settings, Watched
from patternbench.observe.section import Section
from patternbench.study.watching import Watch, share_of
from patternbench.traces import responses
from patternbench.traces.collecting import SpansOfRound, collected
from patternbench.traces.exported import TABLES
from patternbench.traces.records.collected import TracedRound, read


class TraceObserver(Observer[TracedRound]):
    """Watches a traced system: the bench has started a receiver, and announced it to components."""

    name = "traces"
    responses = responses.RESPONSES
    tables = TABLES

    def responses_of(self, watch: Watch) -> Sequence[Response]:
        """Counts and times, where traces are asked for."""
        return self.responses if watch.traces else ()

    def watch(self, watched: Watched) -> AbstractContextManager[object]:
        """Have the receiver keep the spans of the round."""
        traces = watched.watch.traces
        if traces is None or RECEIVER not in watched.endpoints:
            return nullcontext()
        # Who sends to a port that the study names may live on another machine, by another clock.
        since_ns = 0 if traces.port else time.time_ns()
        spans = SpansOfRound(share_of(traces.sample.level), since_ns)
        return collected(watched.endpoints[RECEIVER], spans, watched.folder, time.monotonic, time.sleep)

    def read(self, kept: Kept) -> TracedRound | None:
        """The spans of a round, when it was traced."""
        return read(kept)

    def doubts(self, seen: TracedRound) -> list[Doubt]:
        """Whether spans are missing."""
        return list(responses.doubts(seen))

    def measured(self, seen: TracedRound, settings: Settings) -> dict[str, float]:
        """Calls by type and where the time goes."""
        return responses.of_round(seen)

    def sections(self, run: Path, rounds: pd.DataFrame) -> Sequence[Section]:
        """The section on calls."""
        section = importlib.import_module("patternbench.traces.report.traces_section")
        made: Sequence[Section] = section.sections(run, rounds)
        return made


OBSERVER = TraceObserver()
