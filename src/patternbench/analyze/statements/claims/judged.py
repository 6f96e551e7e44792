"""Claims held against rounds: each change with its interval, and the conclusion on each claim.

The estimate of a change is that of every comparison (``statements.estimate``), within blocks. All intervals of all
claims of a study hold together with 95 % (``statements.family.together``), so at most 5 of 100 studies contain any
false word. A conclusion that the intervals of the firm p don't share has the condition that rounds scatter evenly
(``shown``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

from patternbench.analyze.rounds import ColumnRoles, ScenarioRounds, scenarios
from patternbench.analyze.statements.claims.claim import Claim, Level, Levels
from patternbench.analyze.statements.claims.pairs import ClaimedPairs, Place, claimed_pairs
from patternbench.analyze.statements.estimate import UNKNOWN, Estimate, is_relative
from patternbench.analyze.statements.family import together
from patternbench.analyze.statements.pairing import (
    Pair,
    against,
    between_changes,
    matched_by_block,
    over_conditions,
)
from patternbench.analyze.statements.sentences import UNKNOWN as NOT_MEASURED
from patternbench.analyze.statements.sentences import changed
from patternbench.analyze.statements.shown import Shown
from patternbench.analyze.statements.verdict import Conclusion, Expected, conclude

LEVEL = 0.95
"""The confidence with which all intervals of all claims of a study hold."""


class ClaimEnds(NamedTuple):
    """The ends of an interval, NaN where there is none."""

    low: float
    high: float


@dataclass(frozen=True)
class ClaimedChange:
    """One change that a claim is about, in percent if its claim is, else in the response's unit.

    ``where`` are the levels that tell it from the others of its claim, ``sides`` the ids of its scenarios (none for a
    mean over pairs), ``rounds`` the fewest that both sides have in common. ``firm`` is its interval where rounds need
    not scatter evenly; None where it is the same. ``response`` and its ``unit``, if an observer declares one, say how
    the change is written, and ``relative`` whether in percent.
    """

    where: Mapping[str, Level]
    sides: tuple[str, str] | None
    value: float
    low: float
    high: float
    rounds: int
    firm: ClaimEnds | None = None
    response: str = ""
    relative: bool = True
    unit: str = ""

    @property
    def text(self) -> str:
        """The change with its interval, in words."""
        return changed(self.response, self.value, (self.low, self.high), self.relative, self.unit)


@dataclass(frozen=True)
class JudgedClaim:
    """A claim with its changes and its conclusion; ``relative`` says whether they are in percent.

    ``shown`` says whether the conclusion has the condition that rounds scatter evenly.
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
class _ComparedRounds:
    """The rounds of both sides of each pair, with what tells them from others; None for a pair that lacks rounds.

    ``than`` are those of the pairs with whose change theirs is compared. ``ids`` are the scenarios of a single pair.
    """

    where: Mapping[str, Level]
    ids: tuple[str, str] | None
    pairs: tuple[Pair | None, ...]
    than: tuple[Pair | None, ...]

    @property
    def known(self) -> list[Pair]:
        """Every pair with rounds."""
        return [pair for pair in (*self.pairs, *self.than) if pair is not None]

    @property
    def is_complete(self) -> bool:
        """Whether every pair has rounds."""
        return len(self.known) == len(self.pairs) + len(self.than)


class _ReportedChange(NamedTuple):
    """A change as it is printed, the ends of its interval, and the interval where rounds need not scatter evenly."""

    value: float
    low: float
    high: float
    firm: ClaimEnds


@dataclass(frozen=True)
class _Scale:
    """How the changes of a claim are reported: in percent or in the response's unit, with intervals of a confidence."""

    relative: bool
    each: float

    def reported(self, estimate: Estimate) -> _ReportedChange:
        """Return a change with its intervals."""
        ends = np.array([estimate.value, *estimate.ends(self.each), *estimate.firm_ends(self.each)], dtype=float)
        value, low, high, *firm = (float(end) for end in (100 * np.expm1(ends) if self.relative else ends))
        return _ReportedChange(value, low, high, ClaimEnds(*firm))


def count_of_intervals(claims: Sequence[Claim], levels: Sequence[Levels]) -> int:
    """How many intervals hold together: one for each change of each claim."""
    return sum(len(claimed_pairs(claim, levels)) for claim in claims)


def judge_claims(
    claims: Sequence[Claim],
    planned: Mapping[str, Levels],
    rounds: pd.DataFrame,
    units: Mapping[str, str],
    each: float | None = None,
) -> JudgedClaims:
    """Hold claims against the rounds that count, of a plan whose scenarios have these levels, by their ids.

    ``each`` is the confidence of each interval; without it, all hold together.
    """
    count = count_of_intervals(claims, list(planned.values()))
    level = together(LEVEL, count) if each is None else each
    responses = [name for name in dict.fromkeys(claim.response for claim in claims) if name in rounds]
    measured = _measured(rounds, responses)
    judged = (_judged(claim, _compared(claim, planned, measured), level, units) for claim in claims)
    return JudgedClaims(tuple(judged), count, level)


def _measured(rounds: pd.DataFrame, responses: Sequence[str]) -> dict[str, ScenarioRounds]:
    if rounds.empty or not responses:
        return {}
    table = scenarios(rounds.reset_index(drop=True), ColumnRoles(("scenario",), tuple(responses)))
    return {str(one.levels["scenario"]): one for one in table}


def _compared(
    claim: Claim, planned: Mapping[str, Levels], measured: Mapping[str, ScenarioRounds]
) -> tuple[_ComparedRounds, ...]:
    ids = list(planned)

    def rounds(places: Sequence[Place]) -> tuple[Pair | None, ...]:
        return tuple(_with_rounds(claim, measured.get(ids[a]), measured.get(ids[b])) for a, b in places)

    def compared(one: ClaimedPairs) -> _ComparedRounds:
        (a, b), *more = one.pairs
        alone = not (more or one.than or claim.of_mean)
        return _ComparedRounds(one.where, (ids[a], ids[b]) if alone else None, rounds(one.pairs), rounds(one.than))

    return tuple(map(compared, claimed_pairs(claim, list(planned.values()))))


def _with_rounds(claim: Claim, a: ScenarioRounds | None, b: ScenarioRounds | None) -> Pair | None:
    if a is None or b is None or claim.response not in a.values:
        return None
    return (a, b) if len(a.values[claim.response]) and len(b.values[claim.response]) else None


def _judged(claim: Claim, compared: Sequence[_ComparedRounds], each: float, units: Mapping[str, str]) -> JudgedClaim:
    scale = _Scale(_is_relative(claim, compared), each)
    unit = units.get(claim.response, claim.unit)
    changes = tuple(_changed(claim, one, scale, unit) for one in compared)
    conclusion, shown = concluded(claim.expected, changes)
    return JudgedClaim(claim, scale.relative, changes, conclusion, unit, shown)


def concluded(expected: Expected, changes: Sequence[ClaimedChange]) -> tuple[Conclusion, Shown]:
    """Return the conclusion on changes whose intervals hold together, and whether it needs rounds to scatter evenly."""
    conclusion = conclude(expected, changes)
    firm = conclude(expected, [one.firm or one for one in changes])
    return conclusion, Shown.FIRMLY if firm is conclusion else Shown.IF_EVEN


def extremes(changes: Sequence[ClaimedChange]) -> str:
    """Return the least and the greatest change that are known, in words; a single one is both."""
    known = sorted((one for one in changes if np.isfinite(one.value)), key=lambda change: change.value)
    ends = [known[0], known[-1]] if len(known) > 1 else known
    return "; ".join(one.text for one in ends) or NOT_MEASURED


def _is_relative(claim: Claim, compared: Sequence[_ComparedRounds]) -> bool:
    if claim.relative is not None:
        return claim.relative
    values = (side.values[claim.response] for one in compared for pair in one.known for side in pair)
    return is_relative(claim.response, *values)


def _changed(claim: Claim, one: _ComparedRounds, scale: _Scale, unit: str) -> ClaimedChange:
    value, low, high, firm = scale.reported(_estimate(claim, one, scale))
    written = claim.response, scale.relative, unit
    return ClaimedChange(one.where, one.ids, value, low, high, _rounds(claim, one), firm, *written)


def _estimate(claim: Claim, one: _ComparedRounds, scale: _Scale) -> Estimate:
    """Return the change of one pair, of the mean over several, or how it differs from that of others.

    Unknown if one lacks.
    """
    if not one.is_complete or not _has_ratio(claim, one, scale):
        return UNKNOWN
    pairs, than = one.known[: len(one.pairs)], one.known[len(one.pairs) :]
    if than:
        return between_changes(pairs, than, claim.response, scale.relative)
    if one.ids:
        return against(*pairs[0], claim.response, scale.relative)
    return over_conditions(pairs, claim.response, scale.relative)[0]


def _has_ratio(claim: Claim, one: _ComparedRounds, scale: _Scale) -> bool:
    """Whether a change can be reported as it is claimed: a value of zero has no ratio."""
    sides = (side for pair in one.known for side in pair)
    return not scale.relative or all(bool((side.values[claim.response] > 0).all()) for side in sides)


def _rounds(claim: Claim, one: _ComparedRounds) -> int:
    if not one.is_complete:
        return 0
    matched = (side for pair in one.known for side in matched_by_block(*pair, [claim.response])[0])
    return min((len(side.values[claim.response]) for side in matched), default=0)
