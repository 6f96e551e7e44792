"""Claims held against the rounds that a page keeps, and changes of which nothing is claimed.

The study of a page states its claims as data, and the product judges them. A page judges each claim alone: all
intervals of one claim hold together with 95 % (Bonferroni), so that for each claim a wrong word comes up at most 5
times in 100. Where that takes rounds to scatter evenly to both sides, the word has this as its condition, as all words
of the analysis have (``analyze/statements/shown.py``). Entries of a study that say the same are parts of one claim.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, cast

import numpy as np
import pandas as pd

from patternbench.analyze.noise import floors
from patternbench.analyze.statements.claims.claim import Claim, ClaimText, Level, Levels, parse_claim
from patternbench.analyze.statements.claims.judged import (
    LEVEL,
    ClaimedChange,
    JudgedClaim,
    concluded,
    count_of_intervals,
    extremes,
    judge_claims,
)
from patternbench.analyze.statements.claims.pairs import claimed_pairs
from patternbench.analyze.statements.family import together
from patternbench.analyze.statements.verdict import HIGHER, Conclusion, Expected, votes
from patternbench.report.declared_claims import claims_of
from patternbench.report.labels import units_of_observers
from patternbench.study.claims import DeclaredClaim
from patternbench.study.load import load
from patternbench.terms.problems import InputError, Problem
from reproductions.markdown import spread, table
from reproductions.pages import QUICK, STUDIES, plan_of, written

Key = tuple[Any, ...]
"""Levels of some factors, as a table of rounds holds them."""
Plan = Mapping[str, Levels]
"""The levels of scenarios by their ids."""
Named = Mapping[str, Level | Sequence[Level]]
"""Levels of factors: one, or several."""
FAULT = "abort.percentage"


@dataclass(frozen=True)
class HeldClaim:
    """A claim with its changes, whose intervals hold together."""

    says: str
    expected: Expected
    changes: tuple[ClaimedChange, ...]
    undecided: str = ""
    """Why the changes decide nothing, whatever their intervals are."""

    @property
    def conclusion(self) -> Conclusion:
        """What became of it, by the rule of every study's claims."""
        return concluded(self.expected, self.changes)[0]

    @property
    def verdict(self) -> str:
        """The conclusion in words, with its condition."""
        conclusion, shown = concluded(self.expected, self.changes)
        return self.undecided or f"{conclusion}{shown.condition}"

    @property
    def row(self) -> list[str]:
        """What stands in a table of verdicts: also how many intervals are for it, against it, or exclude no change."""
        agree, oppose = votes(self.expected, self.changes)
        differ = sum(change.low > 0 or change.high < 0 for change in self.changes)
        zero = f"; {differ} exclude zero" if self.expected.is_margin else ""
        lie = f"{agree} of {len(self.changes)} for, {oppose} against{zero}"
        return [self.says, self.expected.words, lie, extremes(self.changes), self.verdict]


@dataclass(frozen=True)
class Measured:
    """Rounds, and the levels of their scenarios."""

    plan: Plan
    rounds: pd.DataFrame

    def each(self, every: Sequence[Claim]) -> float:
        """Return the confidence of each interval of some claims, so that all hold together with 95 %."""
        return together(LEVEL, count_of_intervals(every, list(self.plan.values())))

    def judge(self, every: Sequence[Claim], each: float | None = None) -> Sequence[JudgedClaim]:
        """Judge claims with intervals of a confidence; without one all intervals hold together."""
        return judge_claims(every, self.plan, self.rounds, units_of_observers(), each).claims

    def hold(self, every: Iterable[Claim], among: Sequence[Claim] = ()) -> list[HeldClaim]:
        """Hold claims against the rounds, each alone or together with others (``among``).

        What no two scenarios of the plan decide, or the rounds do not tell, is left out.
        """
        found = []
        for of_it in parts_of(one for one in every if one.response in self.rounds):
            judged = self.judge(of_it, self.each(among or of_it))
            changes = tuple(change for one in judged for change in one.changes)
            found.append(HeldClaim(of_it[0].says, of_it[0].expected, changes))
        return [one for one in found if one.changes]

    def of_study(self, study: str) -> list[HeldClaim]:
        """Hold the claims of a study, or of its quick form where the rounds are of that."""
        forms = (self.hold(claims(form)) for form in (study, f"{study}{QUICK}"))
        return next((found for found in forms if found), [])

    def changes(self, names: Sequence[str], claim: Claim, level: float = LEVEL) -> dict[Key, ClaimedChange]:
        """Each change of a claim with its own interval, by those of the levels that it leads to."""
        every = list(self.plan.values())
        reached = (every[one.pairs[0][1]] for one in claimed_pairs(claim, every))
        (judged,) = self.judge([claim], level)
        keys = (tuple(end[name] for name in names) for end in reached)
        return dict(zip(keys, judged.changes, strict=True))

    def together(self, names: Sequence[str], asked: Mapping[Any, Claim]) -> dict[Key, ClaimedChange]:
        """Return the changes of several claims by their names and by levels; all intervals hold together."""
        each = self.each(list(asked.values()))
        found = {name: self.changes(names, one, each) for name, one in asked.items()}
        return {(name, *key): change for name, of_it in found.items() for key, change in of_it.items()}


def parts_of(every: Iterable[Claim]) -> Iterable[list[Claim]]:
    """Return the claims that say the same together, which are parts of one."""
    parts: dict[str, list[Claim]] = {}
    for one in every:
        parts.setdefault(one.says, []).append(one)
    return parts.values()


def faults_of(rounds: pd.DataFrame) -> list[int]:
    """Return the shares of faults under which anything fails, in percent."""
    return sorted(int(fault) for fault in rounds[FAULT].unique() if fault > 0)


@cache
def planned(study: str) -> Plan:
    """Return the levels of each scenario of a study."""
    return {one.id: one.levels for one in plan_of(study).scenarios}


@cache
def claims(study: str) -> Sequence[Claim]:
    """Return the claims of a study."""
    return claims_of(load(STUDIES / f"{study}.yaml"))


def study_of(rounds: pd.DataFrame, studies: Sequence[str]) -> str:
    """Return the first of some studies that has all scenarios of these rounds; raises InputError if none has."""
    scenarios = {*rounds["scenario"]}
    for study in studies:
        if scenarios <= planned(study).keys():
            return study
    allowed = f"scenarios of one study: {' or '.join(studies)}"
    raise InputError(Problem("no study has the scenarios of these rounds", path="scenario", allowed=allowed))


def of_scenarios(study: str, rounds: pd.DataFrame) -> Measured:
    """Return rounds with the scenarios of a study of which there are any."""
    there = set(rounds["scenario"])
    return Measured({name: levels for name, levels in planned(study).items() if name in there}, rounds)


def levelled(rounds: pd.DataFrame, factors: Sequence[str]) -> Measured:
    """Return rounds with the combinations of levels that they have as their scenarios.

    A level in digits is a number: next to ``none`` a table holds numbers as texts.
    """
    groups = rounds.groupby(list(factors), sort=False)
    plan = {
        str(number): dict(zip(factors, map(_plain, levels), strict=True)) for number, (levels, _) in enumerate(groups)
    }
    return Measured(plan, rounds.assign(scenario=groups.ngroup().astype(str)))


def _plain(level: object) -> Level:
    if isinstance(level, str) and level.isdigit():
        return int(level)
    return cast(Level, level.item() if isinstance(level, np.generic) else level)


def read(file: str) -> dict[str, list[Claim]]:
    """Return the claims that a file of this package makes of kept tables, by the names of the tables."""
    given = written(file, dict[str, list[DeclaredClaim]])
    return {name: [parsed(one, name) for one in stated] for name, stated in given.items()}


def parsed(one: DeclaredClaim, path: str) -> Claim:
    """Return a claim that is written at a path."""
    return parse_claim(cast(ClaimText, one.model_dump()), path)


def change(response: str, start: Named, end: Named, where: Named | None = None, over: Sequence[str] = ()) -> Claim:
    """Return the change of a response between levels, of which nothing is claimed.

    A level that does not apply, None, is a level as well.
    """
    begin, finish, within = (
        {
            name: (level,) if level is None or isinstance(level, str | int | float) else tuple(level)
            for name, level in named.items()
        }
        for named in (start, end, where or {})
    )
    return Claim("", response, HIGHER, None, begin, finish, within, over=tuple(over))


def verdict_table(every: Iterable[HeldClaim], what: str = "claim of the paper", intervals: bool = True) -> str:
    """Return a row per claim: what it is, its least and largest change, and the verdict; with how its intervals lie."""
    rows = [one.row for one in every]
    if intervals:
        return table([what, "says the change is", "intervals", "least and largest change", "verdict"], rows)
    return table([what, "says the change is", "change", "verdict"], ([*row[:2], *row[3:]] for row in rows))


# --- tables of medians over rounds, and of changes

NEVER, MOST = "never", "most "
"""Instead of a column: in how many rounds operations did not recover; and before one: its greatest count."""


@dataclass(frozen=True)
class ShownChange:
    """A change of a response from some levels to all others: ``relative`` says whether it is one of a ratio."""

    response: str
    start: Mapping[str, Level]
    relative: bool | None = None

    def of(self, rounds: Measured, by: Sequence[str]) -> dict[Key, ClaimedChange]:
        """Return it by the levels that it leads to, each with its own interval."""
        ends = {name: list(dict.fromkeys(at[name] for at in rounds.plan.values())) for name in self.start}
        return rounds.changes(by, replace(change(self.response, self.start, ends), relative=self.relative))


@dataclass(frozen=True)
class Spans:
    """A table of medians with the least and the greatest: the columns of its rows and its cells, by their heads."""

    rows: Mapping[str, str]
    columns: Mapping[str, str]
    changes: Mapping[str, ShownChange] = field(default_factory=dict)
    says: str = ""

    def of(self, rounds: pd.DataFrame, sort: bool = True) -> Iterator[str]:
        """Yield what it is, and its rows: one for each group of rounds."""
        by = list(self.rows.values())
        found = [one.of(levelled(rounds, by), by) for one in self.changes.values()]
        cells = []
        for key, group in rounds.groupby(by, sort=sort):
            levels = tuple(map(_plain, key))
            changed = (of_it[levels].text if levels in of_it else "–" for of_it in found)
            named = (f"{level:g}" if isinstance(level, float) else level for level in key)
            cells.append([*named, *(_span(group, name) for name in self.columns.values()), *changed])
        yield from filter(None, (self.says, table([*self.rows, *self.columns, *self.changes], cells)))


def _span(rows: pd.DataFrame, column: str) -> str:
    if column == NEVER:
        unsettled = rows["recovered_after"].isna() & rows["affected"].notna()
        return f"{int(unsettled.sum())} of {len(rows)}"
    if column.startswith(MOST):
        return most(rows[column.removeprefix(MOST)])
    return spread(rows[column])


def most(counts: pd.Series) -> str:
    """Return the greatest count of some rounds, of those in which it is known."""
    return "unknown" if counts.isna().all() else f"{counts.max():.0f}"


# --- what rounds cannot tell, whatever their intervals say
#
# A model predicts a configuration no better than the configuration predicts itself. So where the noise floor of a
# response is above the bar that prediction errors are held against, errors up to that floor are not judged. Nor is it
# judged whether something lowers a share of failures that is zero without it.

BAR = 30.0
"""The greatest error of a prediction that both papers on the insurance accept, after Menascé and Almeida: %, points."""
CANNOT = "inconclusive: it cannot be told, since"


def noise_floor(rounds: pd.DataFrame, response: str) -> float:
    """Return how far the middle scenario lies from itself in a response, in percent or points."""
    return floors(rounds, [response])[response].typical


def below_floor(floor: float, low: float, unit: str = "%") -> str:
    """Return why errors are not judged by the bar; empty where they are. ``low`` is the lower end of their interval."""
    hidden = floor > BAR and not low > floor
    return f"{CANNOT} the noise floor of {floor:.0f} {unit} is above the bar of {BAR:g} {unit}" if hidden else ""


def predictions(claim: Claim, errors: pd.DataFrame, floor: float, unit: str = "%") -> HeldClaim:
    """Hold a claim that errors lie below the bar; ``errors`` has ``block``, ``model`` and ``error``."""
    both = pd.concat([errors.assign(by="bar", error=BAR), errors.assign(by="prediction")], ignore_index=True)
    (found,) = levelled(both, ("by", "model")).hold([claim])
    low = BAR * (1 + min(change.low for change in found.changes) / 100)
    return replace(found, undecided=below_floor(floor, low, unit))
