"""Whether what a system keeps grows from block to block, so that later rounds meet more state than earlier ones.

A round's amount (bytes of a component's files, calls per request) is held against the median of its scenario. The
medians of the blocks are tested for an upward trend by Kendall's tau (Biometrika 30, 1938): the share of orders of the
blocks with as high a tau, one-sided. The p of several amounts is corrected by Bonferroni, so that at most 5 in 100 runs
without a trend have one (simulated in ``tests/unit/analyze/test_growth.py``). Four blocks at least can show one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import permutations

import numpy as np
import pandas as pd

from patternbench.terms.arrays import Floats, Ints

LEAST = 1.1
"""How much larger the last third of the blocks must be than the first to matter."""
ALPHA = 0.05
_ALL_ORDERS = 6
"""Up to this many blocks every order is looked at; of more, so many that are drawn."""
_DRAWN = 4_999
_FEWEST = 4


@dataclass(frozen=True)
class StateGrowth:
    """An amount that grows: by how much, and its medians over the first and the last third of the blocks."""

    name: str
    first: float
    last: float
    blocks: int


def grown(amounts: Mapping[str, pd.DataFrame], seed: int = 1) -> list[StateGrowth]:
    """Return the amounts that grow over a run's blocks.

    Each is a frame with a row per round and the columns ``block``, ``scenario`` and ``value``. Rounds without a
    positive value are left out.
    """
    positive = {name: frame[frame["value"].astype(float) > 0] for name, frame in amounts.items()}
    usable = {name: frame for name, frame in positive.items() if _can_show(frame)}
    found = [_growth(name, frame) for name, frame in usable.items()]
    kept = zip(found, usable.values(), strict=True)
    return [
        growth
        for growth, frame in kept
        if growth.last >= LEAST * growth.first and trend_p(_of_blocks(frame), seed) * len(usable) <= ALPHA
    ]


def trend_p(values: Floats, seed: int = 1) -> float:
    """Return the p that values in order rise no more than in any other order."""
    orders = _orders(len(values), seed)
    observed = _concordance(values[None, :])[0]
    others = _concordance(values[orders])
    if len(values) <= _ALL_ORDERS:
        return float((others >= observed).mean())
    return float((1 + (others >= observed).sum()) / (len(orders) + 1))


def _orders(count: int, seed: int) -> Ints:
    if count <= _ALL_ORDERS:
        return np.array(list(permutations(range(count))))
    return np.argsort(np.random.default_rng(seed).random((_DRAWN, count)), axis=1)


def _concordance(rows: Floats) -> Floats:
    """Kendall's S of each row: pairs that rise minus pairs that fall."""
    before, after = np.triu_indices(rows.shape[1], 1)
    signs: Floats = np.sign(rows[:, after] - rows[:, before]).sum(axis=1)
    return signs


def _can_show(frame: pd.DataFrame) -> bool:
    return frame["block"].nunique() >= _FEWEST and bool(np.ptp(_of_blocks(frame)) > 0)


def _of_blocks(frame: pd.DataFrame) -> Floats:
    """Return the median of each block, of the logarithms against the median of each scenario."""
    logs = pd.Series(np.log(frame["value"].to_numpy(float)), index=frame.index)
    against = logs - logs.groupby(frame["scenario"]).transform("median")
    medians: Floats = against.groupby(frame["block"]).median().sort_index().to_numpy(float)
    return medians


def _growth(name: str, frame: pd.DataFrame) -> StateGrowth:
    """Return the growth of a typical scenario; its ratio is that of the blocks' medians."""
    of_blocks = _of_blocks(frame)
    third = math.ceil(len(of_blocks) / 3)
    typical = float(np.median(np.log(frame["value"].to_numpy(float))))
    first, last = (float(np.exp(typical + np.median(part))) for part in (of_blocks[:third], of_blocks[-third:]))
    return StateGrowth(name, first, last, len(of_blocks))
