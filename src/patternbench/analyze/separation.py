"""How well a number that is known early separates two kinds of rounds, and from which value on to raise an alarm.

The separation is the chance that a round of the one kind has a greater number than one of the other kind: the area
under the receiver operating characteristic (ROC). 0.5 is a coin. Its interval is that of DeLong, DeLong and
Clarke-Pearson (Biometrics 44, 1988) on the scale of the logit, so that it stays between 0 and 1. Coverage is simulated
in ``tests/unit/analyze/test_separation.py``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import special

from patternbench.terms.arrays import Floats

FEWEST = 5
"""Rounds of either kind, with fewer of which nothing is said."""
_ENDS = 1e-9


@dataclass(frozen=True)
class Separation:
    """The area under the ROC with its interval, and the alarm: above ``threshold`` a round is called one of the kind.

    ``caught`` is the share of the rounds of the kind above the threshold, ``false`` that of the others.
    """

    area: float
    low: float
    high: float
    threshold: float
    caught: float
    false: float


def separation(kind: Floats, others: Floats, level: float = 0.95) -> Separation | None:
    """Return how well greater numbers tell rounds of a kind from others; None with too few of either."""
    kind, others = kind[np.isfinite(kind)], others[np.isfinite(others)]
    if min(len(kind), len(others)) < FEWEST:
        return None
    wins = (kind[:, None] > others[None, :]) + 0.5 * (kind[:, None] == others[None, :])
    area = float(wins.mean())
    low, high = _interval(area, wins, level)
    threshold = _threshold(kind, others)
    return Separation(area, low, high, threshold, float((kind > threshold).mean()), float((others > threshold).mean()))


def _interval(area: float, wins: Floats, level: float) -> tuple[float, float]:
    """Return DeLong's interval; where all or none are told apart, the one of the rule of three."""
    rows, columns = wins.shape
    variance = wins.mean(axis=1).var(ddof=1) / rows + wins.mean(axis=0).var(ddof=1) / columns
    if variance == 0:
        least = (1 - level) ** (1 / min(rows, columns))
        return (least, 1.0) if area > 0.5 else (0.0, 1 - least)  # noqa: PLR2004 - a coin
    inside = min(max(area, _ENDS), 1 - _ENDS)
    half = float(special.ndtri((1 + level) / 2)) * math.sqrt(variance) / (inside * (1 - inside))
    logit = float(special.logit(inside))
    return float(special.expit(logit - half)), float(special.expit(logit + half))


def _threshold(kind: Floats, others: Floats) -> float:
    """Return the value at which caught rounds less false alarms are the most (Youden, Cancer 3, 1950).

    It lies in the middle between two numbers.
    """
    values = np.unique(np.concatenate([kind, others]))
    middles = (values[:-1] + values[1:]) / 2 if len(values) > 1 else values
    gained = [(kind > middle).mean() - (others > middle).mean() for middle in middles]
    return float(middles[int(np.argmax(gained))])
