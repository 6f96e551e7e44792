"""Rounds at one speed of the machine, as the rounds that ran just before and after each of them show it.

A machine that is slow for a while slows down neighbouring rounds alike, whatever they measure. What the two rounds
before a round and the two after it have in common, beyond their scenarios and blocks, is therefore a covariate that
needs no probe (Papadakis, 1937; Bartlett, Nearest neighbour models in the analysis of field experiments, Journal of the
Royal Statistical Society B 40, 1978). Blocks are shuffled, so a scenario can't move its neighbours on average.

With few scenarios a round is itself a large part of the means that its neighbours are taken against. The covariate
then holds the round's own luck with the sign turned, and takes away noise that is there: of two equal ones of 2, 4 and
10 scenarios, 43, 20 and 8 of 100 differ. From 20 scenarios on it is 6 or fewer, under every noise that is simulated.
Fewer are refused.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

from patternbench.analyze.statements.estimate import is_relative
from patternbench.terms.arrays import Floats
from patternbench.terms.data_problems import DataError, DataProblem, Note, raise_if_any
from patternbench.terms.quantities import number

Codes = npt.NDArray[np.int_]
FEWEST_SCENARIOS = 20
ORDER = "started"
_NEIGHBOURS = (-2, -1, 1, 2)
_SWEEPS = 20
_FAR = 3 * 1.4826
"""A residual counts for its neighbours up to this many median absolute deviations: a stall tells nothing of them."""


def at_one_speed(
    rounds: pd.DataFrame, responses: Sequence[str], factors: Sequence[str]
) -> tuple[pd.DataFrame, list[Note]]:
    """Return the rounds with each positive response as at the machine's middle speed, and what that changed.

    ``rounds`` has ``block``, ``started`` and the columns that tell scenarios apart. Shares and responses that can be
    zero stay as they are. Raises ``DataError`` without order or blocks, and where most blocks have fewer than 20
    scenarios.
    """
    raise_if_any(_missing(rounds))
    ordered = rounds.sort_values(["block", ORDER], kind="stable")
    scenario = ordered.groupby(list(factors), dropna=False, sort=False).ngroup()
    _refuse_few(int(scenario.groupby(ordered["block"]).nunique().median()))
    reported, moved = dict[str, float](), dict[str, Floats]()
    for name in responses:
        values = ordered[name].astype(float)
        if is_relative(name, values.dropna()):
            logs, reported[name] = _moved(np.log(values.to_numpy()), scenario, ordered["block"])
            moved[name] = np.exp(logs)
    return ordered.assign(**moved).loc[rounds.index], _notes(reported)


def _missing(rounds: pd.DataFrame) -> list[DataProblem]:
    needed = {"block": "which rounds ran together", ORDER: "the order of the rounds"}
    return [
        DataProblem(f"there is no column {name}, {what}.", "--neighbours", "The rounds of a run have it.")
        for name, what in needed.items()
        if name not in rounds or rounds[name].isna().any()
    ]


def _refuse_few(scenarios: int) -> None:
    if scenarios < FEWEST_SCENARIOS:
        remedy = "Leave --neighbours out; to take out the machine's speed in a smaller study, use speed_probe."
        problem = (
            f"{scenarios} scenarios in a block are too few to tell the machine's speed: it takes {FEWEST_SCENARIOS}."
        )
        raise DataError(DataProblem(problem, "--neighbours", remedy))


def _moved(values: Floats, scenario: pd.Series, block: pd.Series) -> tuple[Floats, float]:
    """Return logs without the part that neighbours explain, and which share of the squares that was."""
    codes = [pd.factorize(groups)[0] for groups in (scenario, block)]
    own = _within(values, codes)
    cut = _cut(own)
    covariate = _of_neighbours(cut)
    aside = _within(np.where(np.isfinite(own), covariate, np.nan), codes)
    both = np.isfinite(own) & np.isfinite(aside)
    squares = float((aside[both] ** 2).sum())
    slope = float((cut[both] * aside[both]).sum()) / squares if squares > 0 else 0.0
    centred = np.where(np.isfinite(covariate), covariate - np.nanmean(covariate), 0.0)
    total = float((own[both] ** 2).sum())
    return values - slope * centred, slope**2 * squares / total if total > 0 else 0.0


def _cut(own: Floats) -> Floats:
    """Residuals, far ones cut."""
    known = own[np.isfinite(own)]
    most = _FAR * float(np.median(np.abs(known))) if len(known) else 0.0
    return np.clip(own, -most, most)


def _of_neighbours(cut: Floats) -> Floats:
    """Return the mean of the residuals of the two rounds before each and the two after it."""
    padded = np.pad(cut, 2, constant_values=np.nan)
    around = np.stack([padded[2 + step : len(cut) + 2 + step] for step in _NEIGHBOURS])
    count = np.isfinite(around).sum(axis=0)
    mean: Floats = np.nansum(around, axis=0) / np.maximum(count, 1)
    return mean


def _within(values: Floats, groupings: Sequence[Codes]) -> Floats:
    """Return the values less what their scenario and their block add (swept out in turn, as rounds may be missing)."""
    left = pd.Series(values)
    for _ in range(_SWEEPS):
        for codes in groupings:
            left = left - left.groupby(codes).transform("mean")
    return np.asarray(left, dtype=np.float64)


def _notes(reported: dict[str, float]) -> list[Note]:
    """Return what neighbouring rounds explained, so that no one takes adjusted rounds for measured ones."""
    if not reported:
        text = "--neighbours changed nothing: shares, and responses that can be zero, stay as they were measured."
        return [Note("neighbours", text)]
    parts = ", ".join(f"{number(100 * share)} % of {name}'s" for name, share in reported.items())
    text = (
        "Rounds are compared at one speed of the machine, as the rounds just before and after each show it. That took "
        f"out {parts} variance within blocks. Without --neighbours they are compared as they were measured."
    )
    return [Note("neighbours", text)]
