"""Requests added up by operation, round after round, so that no round has to be kept for what a report shows of it.

Nothing is estimated. A mean is a sum over a number; a median of calls is that of all requests, as few different numbers
of calls come up, and how many requests made each is kept.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass, field
from itertools import accumulate

import pandas as pd

from patternbench.traces.analyze.calls import CALLS, CallType

TIMES = (*(f"{kind.value}_time" for kind in CallType), "seconds")
"""The times of a request that are added up."""


@dataclass
class CallCounts:
    """How many requests made each number of calls, and of how many that is not known."""

    requests: Counter[float] = field(default_factory=Counter)
    unknown: int = 0

    def add(self, calls: pd.Series) -> None:
        """Add the calls of further requests; NaN is a number that is not known."""
        reported = calls.dropna()
        self.unknown += len(calls) - len(reported)
        self.requests.update(reported.astype(float).tolist())

    @property
    def median(self) -> float:
        """The median over requests; NaN where there are none, or one is not known."""
        total = self.requests.total()
        if self.unknown or not total:
            return math.nan
        ordered = sorted(self.requests)
        reached = list(accumulate(self.requests[calls] for calls in ordered))
        low, high = (ordered[bisect_right(reached, rank)] for rank in ((total - 1) // 2, total // 2))
        return (low + high) / 2


@dataclass
class OperationTotals:
    """The requests of one operation: how many, their calls by type, the sums of their times in seconds."""

    requests: int = 0
    calls: dict[str, CallCounts] = field(default_factory=lambda: {name: CallCounts() for name in CALLS})
    times: dict[str, float] = field(default_factory=lambda: dict.fromkeys(TIMES, 0.0))

    def add(self, rows: pd.DataFrame) -> None:
        """Add further requests (``analyze.calls``)."""
        self.requests += len(rows)
        for name, counts in self.calls.items():
            counts.add(rows[name])
        self.times = {name: time + float(rows[name].sum()) for name, time in self.times.items()}

    def mean(self, time: str) -> float:
        """Return a time per request, in seconds; NaN where there are no requests."""
        return self.times[time] / self.requests if self.requests else math.nan


@dataclass
class RequestTotals:
    """Requests added up by operation, in the order in which operations first came."""

    operations: dict[str, OperationTotals] = field(default_factory=dict)

    def add(self, requests: pd.DataFrame) -> None:
        """Add the requests of a round (``analyze.calls``)."""
        for operation, rows in requests.groupby("operation", sort=False):
            self.operations.setdefault(str(operation), OperationTotals()).add(rows)

    def frequent(self) -> list[str]:
        """Return the operations, the most frequent one first."""
        return sorted(self.operations, key=lambda name: -self.operations[name].requests)

    def are_known(self, calls: str) -> bool:
        """Whether the calls of a type are known of some request."""
        return any(one.calls[calls].requests for one in self.operations.values())
