"""How many rounds each claim takes, before anything runs: from a scatter that is assumed or that another run had."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from patternbench.analyze.statements.claims.claim import Claim, Levels, amount_of
from patternbench.analyze.statements.claims.judged import LEVEL, ClaimedChange, JudgedClaim, count_of_intervals
from patternbench.analyze.statements.claims.pairs import ClaimedPairs, claimed_pairs
from patternbench.analyze.statements.estimate import is_relative
from patternbench.analyze.statements.family import together
from patternbench.analyze.statements.power import FEWEST, MOST, rounds_to_show, smallest_shown
from patternbench.terms.quantities import SHARES

_PERCENT = 100.0
_ALL = 99.99
"""The greatest decrease in percent that has a logarithm."""


@dataclass(frozen=True)
class Scatter:
    """How far a round of a response differs from others of its scenario in the same block.

    A standard deviation: of logs if ``relative``, else in the response's unit.
    """

    spread: float
    relative: bool


@dataclass(frozen=True)
class RoundsNeeded:
    """What a claim takes: its pairs, its intervals, and with a known scatter what a number of rounds shows.

    ``size`` is the change that is to be shown: the margin, how far the published change lies beyond zero or the bound,
    or one that is assumed. ``smallest`` is the smallest that the study's rounds show. Both are in percent if
    ``relative``, else in the response's unit. ``rounds`` is how many show a change of this size; None above 10,000.
    """

    claim: Claim
    pairs: int
    intervals: int = 1
    relative: bool = False
    smallest: float | None = None
    size: float | None = None
    rounds: int | None = None


@dataclass(frozen=True)
class RoundsAim:
    """What is known before a run: its rounds, the scatter of responses, the change to show where no claim says it.

    The latter is in percent.
    """

    rounds: int
    scatters: Mapping[str, Scatter]
    to_show: float


def rounds_needed(claims: Sequence[Claim], levels: Sequence[Levels], aim: RoundsAim) -> list[RoundsNeeded]:
    """Return what each claim takes, as far as the scatter of its response is known."""
    each = together(LEVEL, count_of_intervals(claims, levels))
    return [_needed(claim, claimed_pairs(claim, levels), each, aim) for claim in claims]


def _needed(claim: Claim, changes: Sequence[ClaimedPairs], each: float, aim: RoundsAim) -> RoundsNeeded:
    scatter, pairs = aim.scatters.get(claim.response), sum(len(one.pairs) for one in changes)
    if scatter is None or (claim.relative is not None and claim.relative != scatter.relative):
        return RoundsNeeded(claim, pairs, len(changes))
    spread = scatter.spread * max(map(_of_one_pair, changes), default=1.0)
    is_margin, size = claim.expected.is_margin, _size(claim, scatter.relative, aim.to_show)
    smallest = smallest_shown(spread, max(aim.rounds, FEWEST), each, is_margin)
    rounds = rounds_to_show(size, spread, each, is_margin) if size is not None else None
    least, reported = _as_reported(smallest, scatter.relative), _as_reported(size, scatter.relative)
    return RoundsNeeded(claim, pairs, len(changes), scatter.relative, least, reported, rounds)


def _of_one_pair(change: ClaimedPairs) -> float:
    """How far a change scatters, as a multiple of that of one pair: means scatter less, differences of changes more."""
    return float(np.sqrt(1 / len(change.pairs) + (1 / len(change.than) if change.than else 0)))


def _size(claim: Claim, relative: bool, to_show: float) -> float | None:
    """Return the change to show, as a difference of logs or in the response's unit; None where nothing says it."""
    if claim.expected.is_margin:
        return _on_scale(claim.expected.high, relative)
    bound = claim.expected.low if np.isfinite(claim.expected.low) else claim.expected.high
    published = amount_of(claim.published, claim.response, claim.unit)
    if published is not None and published[1] == relative:
        return abs(_on_scale(published[0], relative) - _on_scale(bound, relative))
    return _on_scale(to_show, relative=True) if relative else None


def _on_scale(change: float, relative: bool) -> float:
    return float(np.log1p(max(change, -_ALL) / _PERCENT)) if relative else change


def _as_reported(size: float | None, relative: bool) -> float | None:
    return _PERCENT * float(np.expm1(size)) if relative and size is not None else size


def rounds_to_decide(judged: JudgedClaim) -> int | None:
    """About how many rounds decide a claim that is open, if its changes are as measured: intervals narrow as a root.

    None for a claim that is decided, and where a change or its interval isn't known or lies right at the bound.
    """
    expected = judged.claim.expected
    open_ = [one for one in judged.changes if not (expected.holds(one) or expected.fails(one))]
    needed = [_to_decide(one, judged) for one in open_]
    most = max(needed, default=0.0)
    return int(np.ceil(most)) if 0 < most <= MOST else None


def _to_decide(change: ClaimedChange, judged: JudgedClaim) -> float:
    ends = [change.value, change.low, change.high]
    value, low, high = (_on_scale(end, judged.relative) for end in ends)
    bounds = [end for end in (judged.claim.expected.low, judged.claim.expected.high) if np.isfinite(end)]
    distance = min(abs(value - _on_scale(bound, judged.relative)) for bound in bounds)
    return change.rounds * ((high - low) / 2 / distance) ** 2 if distance > 0 and np.isfinite(high - low) else np.inf


def assumed(claims: Sequence[Claim], percent: float) -> dict[str, Scatter]:
    """Return the same scatter in percent for every response that is compared by its ratio."""
    spread = float(np.log1p(percent / _PERCENT))
    return {claim.response: Scatter(spread, relative=True) for claim in claims if claim.response not in SHARES}


def scatters_of(claims: Sequence[Claim], rounds: pd.DataFrame) -> dict[str, Scatter]:
    """Return the scatter of each response that rounds have: what is left when scenarios and blocks are taken out."""
    names = [name for name in dict.fromkeys(claim.response for claim in claims) if name in rounds]
    found = {name: _scatter(rounds[["scenario", "block", name]].dropna(), name) for name in names}
    return {name: scatter for name, scatter in found.items() if scatter is not None}


def _scatter(rounds: pd.DataFrame, response: str) -> Scatter | None:
    values = rounds[response].to_numpy(dtype=float)
    relative = is_relative(response, values)
    reported = pd.Series(np.log(values) if relative else values, index=rounds.index)
    by_scenario = reported - reported.groupby(rounds["scenario"]).transform("mean")
    scenarios, blocks = rounds["scenario"].nunique(), rounds["block"].nunique()
    within = by_scenario - by_scenario.groupby(rounds["block"]).transform("mean") if scenarios > 1 else by_scenario
    df = len(rounds) - scenarios - (blocks - 1 if scenarios > 1 else 0)
    return Scatter(float(np.sqrt((within**2).sum() / df)), relative) if df >= 1 else None
