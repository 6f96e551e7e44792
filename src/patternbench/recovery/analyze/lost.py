"""The goodput that a fault cost: a round against the undisturbed round of the same block."""

from __future__ import annotations

import math
from collections.abc import Mapping

import pandas as pd

_ALL = 100.0


def goodput_lost(
    rounds: pd.DataFrame, since: str, undisturbed: Mapping[str, float], alike: Mapping[str, str]
) -> list[float] | None:
    """Return what each round lost of the goodput of the undisturbed round in its block, in percent; None without any.

    ``since`` is the column of good calls per second since the fault. ``undisturbed`` are the scenarios without a fault,
    with the seconds that they offer calls; ``alike`` says which scenarios differ in faults alone.
    """
    calm = rounds[rounds["scenario"].isin(undisturbed) & (rounds["status"] == "done") & rounds["valid"].astype(bool)]
    usual = {
        (block, alike[scenario]): float(good) / undisturbed[scenario]
        for block, scenario, good in zip(calm["block"], calm["scenario"], calm["SuccessfulCalls"], strict=True)
    }
    if not usual:
        return None
    rows = zip(rounds[since], rounds["block"], rounds["scenario"], strict=True)
    return [_lost(float(good), usual.get((block, alike[scenario]))) for good, block, scenario in rows]


def _lost(since: float, usual: float | None) -> float:
    return _ALL * (1 - since / usual) if usual else math.nan
