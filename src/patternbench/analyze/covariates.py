"""Differences between rounds that a covariate explains: responses as they would have been at one value of it.

A covariate was measured in every round, and no scenario can have influenced it: how fast the idle machine was before
and after the load, for example. If a scenario moves it by itself, the adjustment is wrong by about as
much: a configuration whose load makes the covariate 5 % larger seems 5 % better than it is, and no number of rounds
mends that. ``moved_by_scenarios`` looks for it, though it finds shifts of a few percent only in long runs.

Rounds are shuffled, so on average it is the same for all scenarios; what it happened to be in the
rounds of one of them is noise, which can be removed. This is the analysis of covariance (Cochran, Analysis of
Covariance: Its Nature and Uses, Biometrics 13, 1957) on the log scale.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy import stats

from patternbench.terms.arrays import Floats

SCENARIO = "scenario"
_ALPHA = 0.05
_ROUNDING = 1e-20


def at_common_value(
    rounds: pd.DataFrame, responses: Sequence[str], covariate: str, alike: Sequence[str]
) -> pd.DataFrame:
    """Return the rounds with each response moved to where it would be at the covariate's median over all rounds.

    ``rounds`` has ``scenario``, the responses, the covariate and the columns ``alike``; responses and covariate are
    positive. How strongly a response follows the covariate (the slope between their logs) comes from differences
    between rounds of the same scenario, and is common to scenarios with equal levels of ``alike``. The slope is
    uncertain by itself; rounds are spread around their scenario's mean a little more for it, so that intervals computed
    from them hold. NaN where the covariate is missing.
    """
    logs = np.log(rounds[covariate])
    offset = logs - logs.median()
    moved = {name: np.exp(_moved(rounds, np.log(rounds[name]), offset, alike)) for name in responses}
    return rounds.assign(**moved)


def moved_by_scenarios(rounds: pd.DataFrame, covariate: str) -> float:
    """Return the p that the covariate is the same for all scenarios: the F test of scenarios within blocks, on logs.

    ``rounds`` has ``scenario``, ``block`` and the covariate. NaN where too few rounds repeat. A small p forbids the
    covariate; a large one does not show that no scenario moves it.
    """
    known = rounds[["scenario", "block"]].assign(log=np.log(rounds[covariate])).dropna()
    scenario, block = (pd.factorize(known[name])[0] for name in ("scenario", "block"))
    if len(known) == 0:
        return float("nan")
    blocks = np.eye(block.max() + 1)[block]
    both = np.hstack([blocks, np.eye(scenario.max() + 1)[scenario]])
    alone, rest = (_left(columns, known["log"].to_numpy(float)) for columns in (blocks, both))
    extra, df = alone[1] - rest[1], rest[1]
    if extra < 1 or df < 1:
        return float("nan")
    if rest[0] <= _ROUNDING * alone[0]:
        return 0.0 if alone[0] > 0 else 1.0
    return float(stats.f.sf((alone[0] - rest[0]) / extra / (rest[0] / df), extra, df))


def is_moved(p: float) -> bool:
    """Whether the p of ``moved_by_scenarios`` forbids the covariate: of 100 that nothing moves it forbids 5."""
    return p < _ALPHA


def _left(columns: Floats, values: Floats) -> tuple[float, int]:
    """Return the sum of squares that columns leave of values, and its degrees of freedom."""
    found, _, rank, _ = np.linalg.lstsq(columns, values, rcond=None)
    return float(((values - columns @ found) ** 2).sum()), len(values) - int(rank)


def _moved(rounds: pd.DataFrame, logs: pd.Series, offset: pd.Series, alike: Sequence[str]) -> pd.Series:
    """Return logs of a response without the part that the covariate explains."""
    both, scenario, kind = logs.notna() & offset.notna(), rounds[SCENARIO], [rounds[name] for name in alike]
    x, y = (_within(values.where(both), scenario) for values in (offset, logs))
    together, alone, count = (
        values.groupby(kind, dropna=False).transform("sum") for values in (x * y, x * x, both.astype(float))
    )
    slope = (together / alone.where(alone > 0)).fillna(0.0)
    moved = logs - slope * offset
    freedom = count - scenario.groupby(kind, dropna=False).transform("nunique") - 1
    # One part for the degree of freedom that the slope takes, one for scenarios that met unlike values.
    wider = np.sqrt(1 + 2 / freedom.where((alone > 0) & (freedom > 0))).fillna(1.0)
    widened: pd.Series = moved + (wider - 1) * _within(moved, scenario)
    return widened


def _within(values: pd.Series, scenario: pd.Series) -> pd.Series:
    """Return the values' differences from the mean of their scenario."""
    return values - values.groupby(scenario).transform("mean")
