"""The results of the journeys and items of one round, in rounds that have them.

A journey's time runs from the intended start of its first call to the end of its last. It has ended after its last
call, or after a failure that stops it; a journey that the end of the load cut off has not, and has no time. A journey
that touches the warm-up is left out whole. It is good when all its calls were. Items are carried by calls: all items of
a failed call have failed, and of a good one those that its answer tells.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from patternbench.terms.responses import OF_ITEMS, OF_JOURNEYS

JOURNEYS = tuple(response.name for response in OF_JOURNEYS)
ITEMS = tuple(response.name for response in OF_ITEMS)
_MICRO = 1e-6

_Floats = npt.NDArray[np.float64]
_Ints = npt.NDArray[np.int64]
_Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class JourneyTimes:
    """The seconds of every journey that ended, whether it was good, and when it began (intended, in microseconds)."""

    seconds: _Floats
    good: _Bools
    began_us: _Ints


def journey_times(rows: pd.DataFrame, warm: _Ints, last: _Ints, success: _Bools) -> tuple[JourneyTimes, int]:
    """Give the journeys that ended, and how many did not.

    `rows` are attempts of `contracts/records`; `warm` numbers journeys to leave out; `last` is the position of each
    call's deciding row, `success` whether the call was good. A round without journeys has none.
    """
    if "journey" not in rows:
        return JourneyTimes(np.array([]), np.array([], dtype=bool), np.array([], dtype=np.int64)), 0
    journey = rows["journey"].to_numpy(np.int64)
    failed = np.unique(journey[last[~success]])
    kept = ~np.isin(journey, warm)
    number, position = np.unique(journey[kept], return_inverse=True)
    began = np.full(len(number), np.iinfo(np.int64).max)
    ended = np.full(len(number), np.iinfo(np.int64).min)
    over = np.zeros(len(number), dtype=bool)
    np.minimum.at(began, position, rows["intended_us"].to_numpy(np.int64)[kept])
    np.maximum.at(ended, position, _waited_for(rows)[kept])
    np.logical_or.at(over, position, rows["ends_journey"].to_numpy(bool)[kept])
    seconds = (ended - began)[over] * _MICRO
    return JourneyTimes(seconds, ~np.isin(number[over], failed), began[over]), int((~over).sum())


def _waited_for(rows: pd.DataFrame) -> _Ints:
    """The end of each attempt that somebody waited for; one that lost against another of its call never ends last."""
    end = rows["end_us"].to_numpy(np.int64)
    lost = (rows["outcome"] == "cancelled").to_numpy(bool)
    return np.where(lost, rows["start_us"].to_numpy(np.int64), end)


def of_journeys(times: JourneyTimes, unfinished: int, span: float) -> dict[str, float]:
    """Give the responses `JOURNEYS`: counts, good ones per second of the round, and the failed share in percent."""
    total, good = len(times.seconds), int(times.good.sum())
    if total + unfinished == 0:
        return dict.fromkeys(JOURNEYS, np.nan)
    return {
        "journeys": float(total),
        "unfinished_journeys": float(unfinished),
        "journeys_per_s": good / span if span > 0 else np.nan,
        "journey_failure_rate": 100.0 * (total - good) / total if total else np.nan,
    }


def of_items(rows: pd.DataFrame, last: _Ints, success: _Bools, span: float) -> Mapping[str, float]:
    """Give the responses `ITEMS`: how many there were, good ones per second of the round, the failed share in percent.

    NaN in a round whose calls say nothing of items.
    """
    if "items" not in rows or rows["items"].iloc[last].notna().sum() == 0:
        return dict.fromkeys(ITEMS, np.nan)
    carried = rows["items"].iloc[last].fillna(0).to_numpy(float)
    told = rows["failed_items"].iloc[last].fillna(0).to_numpy(float)
    total, good = carried.sum(), np.where(success, carried - told, 0.0).sum()
    rate = good / span if span > 0 else np.nan
    return {"items": total, "items_per_s": rate, "item_failure_rate": 100.0 * (total - good) / total}
