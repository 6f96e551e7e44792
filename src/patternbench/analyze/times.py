"""All times of a round, each with how often it occurred: what the histograms of other tools are made of.

They are the times of which the responses of a round are quantiles (``metrics``): response times of calls that reached
the wire, from their intended start, and service times of attempts. Attempts that lost against another one of their call
have no time of their own, and calls that were rejected or dropped have none at all; both are in the counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from patternbench.analyze.blocks import Blocks, in_blocks
from patternbench.analyze.round_sums import OrderedTimes, add_up
from patternbench.terms.arrays import Ints

CALL, ATTEMPT = "call", "attempt"


@dataclass(frozen=True)
class CountedTimes:
    """Times of calls or of attempts, the good or the failed ones: whole microseconds in order, and their counts."""

    kind: str
    good: bool
    values_us: Ints
    counts: Ints

    @property
    def count(self) -> int:
        """How many times there are."""
        return int(self.counts.sum())

    @property
    def total_us(self) -> int:
        """All of them added up."""
        return int((self.values_us * self.counts).sum())


@dataclass(frozen=True)
class RoundTimes:
    """The times of a round, and how many calls and attempts were good and failed, those without a time included."""

    times: tuple[CountedTimes, ...]
    calls: Mapping[bool, int]
    attempts: Mapping[bool, int]


def round_times(attempts: pd.DataFrame | Blocks) -> RoundTimes:
    """Return the times of a round's attempts, in memory or in blocks. Raises ValueError when a column is missing."""
    sums = add_up(in_blocks(attempts))
    good, sent = _distinct(sums.good_calls.ordered()), _distinct(sums.sent_calls.ordered())
    well, badly = _distinct(sums.good_attempts.ordered()), _distinct(sums.failed_attempts.ordered())
    times = (
        CountedTimes(CALL, True, *good),
        CountedTimes(CALL, False, *_without(sent, good)),
        CountedTimes(ATTEMPT, True, *well),
        CountedTimes(ATTEMPT, False, *badly),
    )
    successes = int(well[1].sum())
    return RoundTimes(
        times, {True: sums.good, False: sums.count - sums.good}, {True: successes, False: sums.sent - successes}
    )


def _distinct(ordered: OrderedTimes) -> tuple[Ints, Ints]:
    """Return each time that occurs, in order, and how often it does."""
    counted = np.empty(0, np.int64) if ordered.counted is None else np.diff(ordered.counted, prepend=np.int64(0))
    near = np.flatnonzero(counted)
    (first, firsts), (last, lasts) = (np.unique(side, return_counts=True) for side in (ordered.first, ordered.last))
    values = np.concatenate([first, near, last]).astype(np.int64)
    return values, np.concatenate([firsts, counted[near], lasts]).astype(np.int64)


def _without(every: tuple[Ints, Ints], some: tuple[Ints, Ints]) -> tuple[Ints, Ints]:
    """Return the times of all that are not among some of them."""
    values, counts = every[0], every[1].copy()
    counts[np.searchsorted(values, some[0])] -= some[1]
    return values[counts > 0], counts[counts > 0]
