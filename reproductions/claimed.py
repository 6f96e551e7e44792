"""Claims of studies held against the rounds that a page keeps.

The study of a page states its claims as data, and the product judges them. A page judges each claim alone: all
intervals of one claim hold together with 95 %, so that for each claim a wrong word comes up at most 5 times in 100.
Entries of a study that say the same are parts of one claim.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import cast

import numpy as np
import pandas as pd
from pydantic import TypeAdapter

from patternbench.analyze.statements.claims.claim import Claim, ClaimText, Level, Levels, LevelSets, parse_claim
from patternbench.analyze.statements.claims.judged import LEVEL, JudgedClaim, count_of_intervals, judge_claims
from patternbench.analyze.statements.claims.pairs import claimed_pairs
from patternbench.analyze.statements.family import together
from patternbench.analyze.statements.verdict import HIGHER, Expected
from patternbench.report.declared_claims import claims_of
from patternbench.report.labels import RESPONSES
from patternbench.study.claims import DeclaredClaim
from patternbench.study.load import load
from patternbench.terms.quantities import SHARES, TIMES
from reproductions.contrasts import (
    MILLISECONDS,
    PER_SECOND,
    PERCENT,
    PLAIN,
    POINTS,
    Contrast,
    Key,
    Scale,
    heads,
    held,
)
from reproductions.markdown import table
from reproductions.pages import QUICK, STUDIES, plan_of, written

MS_PER_S = 1000
Plan = Mapping[str, Levels]
"""The levels of scenarios by their ids."""


@dataclass(frozen=True)
class HeldClaim:
    """A claim with its changes, and the levels that tell each of them from the others."""

    says: str
    expected: Expected
    changes: tuple[Contrast, ...]
    where: tuple[Mapping[str, Level], ...]
    undecided: str = ""
    """Why the changes decide nothing, whatever their intervals are."""

    @property
    def row(self) -> list[str]:
        """What stands in a table of verdicts."""
        *cells, verdict = held(self.says, self.expected, self.changes)
        return [*cells, self.undecided or verdict]


@cache
def planned(study: str) -> Plan:
    """Return the levels of each scenario of a study."""
    return {one.id: one.levels for one in plan_of(study).scenarios}


@cache
def claims(study: str) -> Sequence[Claim]:
    """Return the claims of a study."""
    return claims_of(load(STUDIES / f"{study}.yaml"))


def read(file: str) -> dict[str, list[Claim]]:
    """Return the claims that a file of this package makes of kept tables, by the names of the tables."""
    given = TypeAdapter(dict[str, list[DeclaredClaim]]).validate_python(written(file))
    return {name: [parsed(one, name) for one in stated] for name, stated in given.items()}


def parsed(one: DeclaredClaim, path: str) -> Claim:
    """Return a claim that is written at a path."""
    return parse_claim(cast(ClaimText, one.model_dump()), path)


def measured(plan: Plan, rounds: pd.DataFrame) -> Plan:
    """Return the scenarios of which there are rounds."""
    there = set(rounds["scenario"])
    return {scenario: levels for scenario, levels in plan.items() if scenario in there}


def hold(every: Iterable[Claim], plan: Plan, rounds: pd.DataFrame, among: Sequence[Claim] = ()) -> list[HeldClaim]:
    """Claims held against rounds, each alone or together with others (``among``).

    What no two scenarios of the plan decide, or the rounds do not tell, is left out.
    """
    parts: dict[str, list[Claim]] = {}
    for one in every:
        if one.response in rounds:
            parts.setdefault(one.says, []).append(one)
    found = (_held(says, of_it, plan, rounds, among or of_it) for says, of_it in parts.items())
    return [one for one in found if one.changes]


def _held(says: str, parts: Sequence[Claim], plan: Plan, rounds: pd.DataFrame, among: Sequence[Claim]) -> HeldClaim:
    each = each_of(among, plan)
    judged = judge_claims(parts, plan, rounds, {}, each).claims
    where = tuple(change.where for one in judged for change in one.changes)
    changes = tuple(change for one in judged for change in contrasts_of(one))
    if any(one.relative for one in judged) or parts[0].response not in TIMES:
        return HeldClaim(says, parts[0].expected, changes, where)
    return HeldClaim(says, _in_ms(parts[0].expected), tuple(map(_told_in_ms, changes)), where)


def _in_ms(expected: Expected) -> Expected:
    return replace(expected, low=expected.low * MS_PER_S, high=expected.high * MS_PER_S)


def _told_in_ms(change: Contrast) -> Contrast:
    """Return a change of a time in seconds as pages tell it."""
    value, low, high, *firm = (end * MS_PER_S for end in (change.value, change.low, change.high, *(change.firm or ())))
    return Contrast(value, low, high, MILLISECONDS, (firm[0], firm[1]) if firm else None)


def each_of(every: Sequence[Claim], plan: Plan) -> float:
    """Return the confidence of each interval of some claims, so that all hold together with 95 %."""
    return together(LEVEL, count_of_intervals(every, list(plan.values())))


def together_of_study(study: str, plan: Plan, rounds: pd.DataFrame) -> list[HeldClaim]:
    """Return the claims of a study held against rounds as its report holds them: all intervals of all hold together."""
    return hold(claims(study), plan, rounds, claims(study))


def of_study(study: str, plan: Plan, rounds: pd.DataFrame) -> list[HeldClaim]:
    """Return the claims of a study, or of its quick form where the rounds are of that, held against rounds."""
    forms = (hold(claims(form), plan, rounds) for form in (study, f"{study}{QUICK}"))
    return next((held for held in forms if held), [])


def levelled(rounds: pd.DataFrame, factors: Sequence[str]) -> tuple[Plan, pd.DataFrame]:
    """Return rounds with the combinations of levels that they have as their scenarios, and these combinations.

    A level in digits is a number: next to ``none`` a table holds numbers as texts.
    """
    groups = rounds.groupby(list(factors), sort=False)
    levels = {str(number): levels for number, (levels, _) in enumerate(groups)}
    plan = {scenario: dict(zip(factors, map(_plain, key), strict=True)) for scenario, key in levels.items()}
    return plan, rounds.assign(scenario=groups.ngroup().astype(str))


def _plain(level: object) -> Level:
    if isinstance(level, str) and level.isdigit():
        return int(level)
    return cast(Level, level.item() if isinstance(level, np.generic) else level)


def contrasts_of(judged: JudgedClaim) -> list[Contrast]:
    """Return the changes of a claim as pages print them."""
    scale = _scale(judged)
    return [Contrast(one.value, one.low, one.high, scale, one.firm) for one in judged.changes]


def _scale(judged: JudgedClaim) -> Scale:
    response = judged.claim.response
    if judged.relative or response in SHARES:
        return PERCENT if judged.relative else POINTS
    return PER_SECOND if response in RESPONSES and RESPONSES[response].kind == "rate" else PLAIN


Named = Mapping[str, Level | Sequence[Level]]
"""Levels of factors: one, or several."""


def change(response: str, start: Named, end: Named, where: Named | None = None, over: Sequence[str] = ()) -> Claim:
    """Return the change of a response between levels, of which nothing is claimed."""
    start, end, where = (_level_sets(levels) for levels in (start, end, where or {}))
    return Claim("", response, HIGHER, None, start, end, where, over=tuple(over))


def _level_sets(named: Named) -> LevelSets:
    return {name: _levels(of_it) for name, of_it in named.items()}


def _levels(named: Level | Sequence[Level]) -> Sequence[Level]:
    """Return the levels that are named: one that does not apply, None, is a level as well."""
    return (named,) if named is None or isinstance(named, str | int | float) else tuple(named)


def changes_by(
    names: Sequence[str], claim: Claim, plan: Plan, rounds: pd.DataFrame, level: float = LEVEL
) -> dict[Key, Contrast]:
    """Each change of a claim with its own interval, by levels that tell the changes apart: those that it leads to."""
    every = list(plan.values())
    ends = (every[one.pairs[0][1]] for one in claimed_pairs(claim, every))
    (judged,) = judge_claims([claim], plan, rounds, {}, level).claims
    return dict(zip((tuple(end[name] for name in names) for end in ends), contrasts_of(judged), strict=True))


def verdict_table(every: Iterable[HeldClaim], what: str = "claim of the paper") -> str:
    """Return a row per claim: what it is, how its intervals lie, the least and largest change, the verdict."""
    return table(heads(what), (one.row for one in every))
