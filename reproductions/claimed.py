"""Claims of studies held against the rounds that a page keeps.

The study of a page states its claims as data, and the product judges them. A page judges each claim alone: all
intervals of one claim hold together with 95 %, so that for each claim a wrong word comes up at most 5 times in 100.
Entries of a study that say the same are parts of one claim.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import pandas as pd

from patternbench.analyze.statements.claims.claim import Claim, Level, Levels
from patternbench.analyze.statements.claims.judged import LEVEL, JudgedClaim, count_of_intervals, judge_claims
from patternbench.analyze.statements.family import together
from patternbench.analyze.statements.verdict import Expected
from patternbench.lab.systems import file_of
from patternbench.plan.expand import expand
from patternbench.report.declared_claims import claims_of
from patternbench.study.load import load
from patternbench.terms.quantities import SHARES
from reproductions.contrasts import PERCENT, PLAIN, POINTS, Contrast, heads, held
from reproductions.markdown import table
from reproductions.pages import STUDIES

Plan = Mapping[str, Levels]
"""The levels of scenarios by their ids."""


@dataclass(frozen=True)
class HeldClaim:
    """A claim with its changes, and the levels that tell each of them from the others."""

    says: str
    expected: Expected
    changes: tuple[Contrast, ...]
    where: tuple[Mapping[str, Level], ...]

    @property
    def row(self) -> list[str]:
        """What stands in a table of verdicts."""
        return held(self.says, self.expected, self.changes)


@cache
def planned(study: str) -> Plan:
    """The levels of each scenario of a study."""
    loaded = load(STUDIES / f"{study}.yaml")
    file = file_of(loaded.system)
    return {one.id: one.levels for one in (expand(loaded, file) if file else expand(loaded)).scenarios}


@cache
def claims(study: str) -> Sequence[Claim]:
    """The claims of a study."""
    return claims_of(load(STUDIES / f"{study}.yaml"))


def measured(plan: Plan, rounds: pd.DataFrame) -> Plan:
    """The scenarios of which there are rounds."""
    there = set(rounds["scenario"])
    return {scenario: levels for scenario, levels in plan.items() if scenario in there}


def hold(every: Iterable[Claim], plan: Plan, rounds: pd.DataFrame) -> list[HeldClaim]:
    """Claims held against rounds, each alone; what no two scenarios of the plan decide is left out."""
    parts: dict[str, list[Claim]] = {}
    for one in every:
        parts.setdefault(one.says, []).append(one)
    found = (_held(says, of_it, plan, rounds) for says, of_it in parts.items())
    return [one for one in found if one.changes]


def _held(says: str, parts: Sequence[Claim], plan: Plan, rounds: pd.DataFrame) -> HeldClaim:
    each = together(LEVEL, count_of_intervals(parts, list(plan.values())))
    judged = judge_claims(parts, plan, rounds, {}, each).claims
    changes = tuple(change for one in judged for change in contrasts_of(one))
    return HeldClaim(says, parts[0].expected, changes, tuple(change.where for one in judged for change in one.changes))


def contrasts_of(judged: JudgedClaim) -> list[Contrast]:
    """The changes of a claim as pages print them."""
    scale = PERCENT if judged.relative else POINTS if judged.claim.response in SHARES else PLAIN
    return [Contrast(one.value, one.low, one.high, scale, one.firm) for one in judged.changes]


def changes(claim: Claim, plan: Plan, rounds: pd.DataFrame, level: float = LEVEL) -> list[Contrast]:
    """What a claim is about, each change with its own interval; its words do not matter."""
    return contrasts_of(judge_claims([claim], plan, rounds, {}, level).claims[0])


def verdict_table(every: Iterable[HeldClaim], what: str = "claim of the paper") -> str:
    """A table with a row per claim: what it is, how its intervals lie, the least and largest change, the verdict."""
    return table(heads(what), (one.row for one in every))
