"""The results of the journeys and items of one round, in rounds that have them.

A journey's time runs from the intended start of its first call to the end of its last. Its time in calls leaves out
what lies between them, such as the pauses of its steps. A journey has ended after its last call, or after a failure
that stops it; one that the end of the load cut off has not, and has no time. A journey that touches the warm-up is left
out whole. It is good when all its calls were. Items are carried by calls: all items of a failed call have failed, and
of a good one those that its answer tells.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from patternbench.analyze.round_sums import MICRO, RoundSums
from patternbench.terms.arrays import Bools, Floats, Ints
from patternbench.terms.responses import OF_ITEMS, OF_JOURNEYS

JOURNEYS = tuple(response.name for response in OF_JOURNEYS)
ITEMS = tuple(response.name for response in OF_ITEMS)


@dataclass(frozen=True)
class JourneyTimes:
    """Every journey that ended: its time, whether it was good, when it began (intended), and its time in calls.

    Times are in microseconds.
    """

    took_us: Ints
    good: Bools
    began_us: Ints
    in_calls_us: Ints

    @property
    def seconds(self) -> Floats:
        """The seconds of every journey."""
        seconds: Floats = self.took_us.astype(np.float64) * MICRO
        return seconds


def journey_times(sums: RoundSums) -> tuple[JourneyTimes, int]:
    """Give the journeys that ended and do not touch the warm-up, and how many others did not end.

    A round without journeys has none.
    """
    found = sums.journeys
    kept = found.there & ~sums.found.warm
    over = kept & found.over
    took = (found.ended - found.began)[over]
    times = JourneyTimes(took, ~found.failed[over], found.began[over], found.in_calls[over])
    return times, int((kept & ~found.over).sum())


def of_journeys(times: JourneyTimes, unfinished: int, span: float) -> dict[str, float]:
    """Give the responses ``JOURNEYS``: counts, good ones per second of the round, and the failed share in percent."""
    total, good = len(times.took_us), int(times.good.sum())
    if total + unfinished == 0:
        return dict.fromkeys(JOURNEYS, np.nan)
    return {
        "journeys": float(total),
        "unfinished_journeys": float(unfinished),
        "journeys_per_s": good / span if span > 0 else np.nan,
        "journey_failure_rate": 100.0 * (total - good) / total if total else np.nan,
    }


def of_items(sums: RoundSums, span: float) -> Mapping[str, float]:
    """Give the responses ``ITEMS``: how many there were, good ones per second, the failed share in percent.

    NaN in a round whose calls say nothing of items.
    """
    if not sums.reported:
        return dict.fromkeys(ITEMS, np.nan)
    total, good = sums.items, sums.good_items
    rate = good / span if span > 0 else np.nan
    return {
        "items": total,
        "items_per_s": rate,
        "item_failure_rate": 100.0 * (total - good) / total if total else np.nan,
    }
