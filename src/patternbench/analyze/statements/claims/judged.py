"""Claims held against rounds: each change with its interval, and the conclusion on each claim.

The estimate of a change is that of every comparison (`statements.estimate`), within blocks. All intervals of all claims
of a study hold together with 95 % (`statements.family.together`), so at most 5 of 100 studies contain any false word. A
conclusion that the intervals of the firm p don't share has the condition that rounds scatter evenly (`shown`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

from patternbench.analyze.rounds import ColumnRoles, ScenarioRounds, scenarios
from patternbench.analyze.statements.claims.claim import Claim, Level, Levels
from patternbench.analyze.statements.claims.pairs import pairs_of, told_apart
from patternbench.analyze.statements.estimate import UNKNOWN, Estimate, is_relative
from patternbench.analyze.statements.family import together
from patternbench.analyze.statements.pairing import Pair, against, matched_by_block, over_conditions
from patternbench.analyze.statements.shown import Shown
from patternbench.analyze.statements.verdict import Conclusion, conclude

LEVEL = 0.95
"""The confidence with which all intervals of all claims of a study hold."""


class ClaimEnds(NamedTuple):
    """The ends of an interval, NaN where there is none."""

    low: float
    high: float


@dataclass(frozen=True)
class ClaimedChange:
    """One change that a claim is about, in percent if its claim is, else in the response's unit.

    `where` are the levels that tell it from the others of its claim, `sides` the ids of its scenarios (none for a mean
    over pairs), `rounds` the fewest that both sides have in common. `firm` is its interval where rounds need not
    scatter evenly; None where it is the same.
    """

    where: Mapping[str, Level]
    sides: tuple[str, str] | None
    value: float
    low: float
    high: float
    rounds: int
    firm: ClaimEnds | None = None


@dataclass(frozen=True)
class JudgedClaim:
    """A claim with its changes and its conclusion; `relative` says whether they are in percent.

    `shown` says whether the conclusion has the condition that rounds scatter evenly.
    """

    claim: Claim
    relative: bool
    changes: tuple[ClaimedChange, ...]
    conclusion: Conclusion
    unit: str = ""
    shown: Shown = Shown.FIRMLY

    @property
    def verdict(self) -> str:
        """The conclusion in words, with its condition."""
        return f"{self.conclusion}{self.shown.condition}"


@dataclass(frozen=True)
class JudgedClaims:
    """All claims of a study: how many intervals they have, and the confidence of each so that all hold together."""

    claims: tuple[JudgedClaim, ...]
    intervals: int
    each: float

    @property
    def is_contradicted(self) -> bool:
        """Whether the rounds contradict any claim."""
        return any(one.conclusion.is_contradicted for one in self.claims)

    @property
    def is_shown(self) -> bool:
        """Whether the rounds show all claims."""
        return all(one.conclusion.is_shown for one in self.claims)


@dataclass(frozen=True)
class _Compared:
    """The rounds of both sides, with what tells them from other pairs; None for a side without rounds."""

    where: Mapping[str, Level]
    ids: tuple[str, str]
    sides: Pair | None


class _Told(NamedTuple):
    """A change as it is printed, the ends of its interval, and the interval where rounds need not scatter evenly."""

    value: float
    low: float
    high: float
    firm: ClaimEnds


@dataclass(frozen=True)
class _Scale:
    """How the changes of a claim are told: in percent or in the response's unit, with intervals of a confidence."""

    relative: bool
    each: float

    def told(self, estimate: Estimate) -> _Told:
        """A change with its intervals."""
        ends = np.array([estimate.value, *estimate.ends(self.each), *estimate.firm_ends(self.each)], dtype=float)
        value, low, high, *firm = (float(end) for end in (100 * np.expm1(ends) if self.relative else ends))
        return _Told(value, low, high, ClaimEnds(*firm))


def count_of_intervals(claims: Sequence[Claim], levels: Sequence[Levels]) -> int:
    """How many intervals hold together: one for each pair of each claim, and one for each claim about a mean."""
    return sum(1 if claim.of_mean else len(pairs_of(claim, levels)) for claim in claims)


def judge_claims(
    claims: Sequence[Claim], planned: Mapping[str, Levels], rounds: pd.DataFrame, units: Mapping[str, str]
) -> JudgedClaims:
    """Hold claims against the rounds that count, of a plan whose scenarios have these levels, by their ids."""
    count = count_of_intervals(claims, list(planned.values()))
    each = together(LEVEL, count)
    responses = [name for name in dict.fromkeys(claim.response for claim in claims) if name in rounds]
    measured = _measured(rounds, responses)
    judged = (_judged(claim, _compared(claim, planned, measured), each, units) for claim in claims)
    return JudgedClaims(tuple(judged), count, each)


def _measured(rounds: pd.DataFrame, responses: Sequence[str]) -> dict[str, ScenarioRounds]:
    if rounds.empty or not responses:
        return {}
    table = scenarios(rounds.reset_index(drop=True), ColumnRoles(("scenario",), tuple(responses)))
    return {str(one.levels["scenario"]): one for one in table}


def _compared(
    claim: Claim, planned: Mapping[str, Levels], measured: Mapping[str, ScenarioRounds]
) -> tuple[_Compared, ...]:
    ids, levels = list(planned), list(planned.values())
    places = pairs_of(claim, levels)
    names = told_apart(claim, [(levels[a], levels[b]) for a, b in places])
    return tuple(
        _Compared(where, (ids[a], ids[b]), _with_rounds(claim, measured.get(ids[a]), measured.get(ids[b])))
        for where, (a, b) in zip(names, places, strict=True)
    )


def _with_rounds(claim: Claim, a: ScenarioRounds | None, b: ScenarioRounds | None) -> Pair | None:
    if a is None or b is None or claim.response not in a.values:
        return None
    return (a, b) if len(a.values[claim.response]) and len(b.values[claim.response]) else None


def _judged(claim: Claim, compared: Sequence[_Compared], each: float, units: Mapping[str, str]) -> JudgedClaim:
    scale = _Scale(_is_relative(claim, compared), each)
    changes = (_of_mean if claim.of_mean else _of_each)(claim, compared, scale)
    conclusion = conclude(claim.expected, changes)
    firm = conclude(claim.expected, [one.firm or one for one in changes])
    shown = Shown.FIRMLY if firm is conclusion else Shown.IF_EVEN
    return JudgedClaim(claim, scale.relative, changes, conclusion, units.get(claim.response, ""), shown)


def _is_relative(claim: Claim, compared: Sequence[_Compared]) -> bool:
    if claim.relative is not None:
        return claim.relative
    values = (side.values[claim.response] for one in compared for side in one.sides or ())
    return is_relative(claim.response, *values)


def _of_each(claim: Claim, compared: Sequence[_Compared], scale: _Scale) -> tuple[ClaimedChange, ...]:
    return tuple(
        _changed(one.where, one.ids, scale.told(_estimate(claim, one, scale)), _rounds(claim, one)) for one in compared
    )


def _changed(where: Mapping[str, Level], sides: tuple[str, str] | None, told: _Told, rounds: int) -> ClaimedChange:
    return ClaimedChange(where, sides, told.value, told.low, told.high, rounds, told.firm)


def _estimate(claim: Claim, one: _Compared, scale: _Scale) -> Estimate:
    known = one.sides is not None and _has_ratio(claim, one, scale)
    return against(*one.sides, claim.response, scale.relative) if one.sides and known else UNKNOWN


def _of_mean(claim: Claim, compared: Sequence[_Compared], scale: _Scale) -> tuple[ClaimedChange, ...]:
    """The change of the mean over all pairs; unknown if one of them wasn't measured."""
    pairs = [one.sides for one in compared if one.sides and _has_ratio(claim, one, scale)]
    complete = len(pairs) == len(compared)
    estimate = over_conditions(pairs, claim.response, scale.relative)[0] if complete else UNKNOWN
    rounds = min((_rounds(claim, one) for one in compared), default=0)
    return (_changed({}, None, scale.told(estimate), rounds),)


def _has_ratio(claim: Claim, one: _Compared, scale: _Scale) -> bool:
    """Whether a change can be told as it is claimed: a value of zero has no ratio."""
    return not scale.relative or all(bool((side.values[claim.response] > 0).all()) for side in one.sides or ())


def _rounds(claim: Claim, one: _Compared) -> int:
    if one.sides is None:
        return 0
    matched, _ = matched_by_block(*one.sides, [claim.response])
    return min(len(side.values[claim.response]) for side in matched)
