"""Every line of a run against the one that it is compared with: the tables behind a report's findings.

Only rounds of the same condition (client, load, fault) are compared, paired by block (``pairing``). A change over
several conditions is their mean within blocks. A change is better or worse only if it is significant with the false
discovery rate of all comparisons of all responses at 5 % (``family``). If nothing differs, at most 5 % of runs contain
such a word without the condition that rounds scatter evenly (``shown``).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from patternbench.analyze.intervals import CONFIDENCE
from patternbench.analyze.rounds import ColumnRoles, ScenarioRounds, scenarios
from patternbench.analyze.statements.estimate import in_unit, is_relative
from patternbench.analyze.statements.family import false_discoveries, together
from patternbench.analyze.statements.pairing import over_conditions
from patternbench.analyze.statements.sentences import ChangeText, change_text
from patternbench.analyze.statements.shown import PValues, Shown
from patternbench.analyze.statements.verdict import DIFFERS, Verdict
from patternbench.terms.arrays import Bools, Floats
from patternbench.terms.responses import Better

FALSE_DISCOVERIES = 0.05
_GROUPS = {"scenario": ["scenario"], "level": ["item", "x"], "item": ["item"]}
Directions = Mapping[str, Better]
"""The responses that are compared, each with the direction that is better."""


class Pair(NamedTuple):
    """The ids of a scenario and its ``baseline``: ``item`` is compared at ``x`` of the axis under a ``condition``.

    An item is a ``line`` of a ``client``.
    """

    scenario: str
    baseline: str
    item: str
    line: str
    client: str = ""
    x: float = 0.0
    x_text: str = ""
    condition: str = ""


class Change(NamedTuple):
    """One row of the tables of ``compared``."""

    item: str
    client: str
    response: str
    relative: bool
    change: float
    low: float
    high: float
    verdict: Verdict
    firm: bool
    failed: float
    rejected: float
    reference_failed: float
    conditions: int
    turns: bool

    @property
    def condition(self) -> str:
        """The condition of its verdict, after a comma; empty where it has none."""
        return "" if self.firm else Shown.IF_EVEN.condition

    @property
    def text(self) -> ChangeText:
        """The change and its interval in words."""
        return change_text(self.response, self.change, (self.low, self.high), self.relative)


def changes(table: pd.DataFrame) -> list[Change]:
    """Return the rows of such a table."""
    if table.empty:
        return []
    rows = (Change(*row) for row in table[list(Change._fields)].itertuples(index=False, name=None))
    # A table keeps its words as plain text.
    return [row._replace(verdict=Verdict(row.verdict)) for row in rows]


def rows_of(table: pd.DataFrame, scenarios: Collection[str]) -> pd.DataFrame:
    """Return the comparisons of single scenarios that are of these."""
    return table[table["scenario"].isin(scenarios)] if len(table) else table


def compared(
    rounds: pd.DataFrame, pairs: Sequence[Pair], better: Directions, failure_limit: float, looks: int = 1
) -> dict[str, pd.DataFrame]:
    """Return the comparisons by ``scenario``, ``level`` and ``item``, from rounds that count.

    Each scenario of ``pairs`` is compared with its baseline. The tables have ``item``, ``response``, ``relative``
    (whether ``change`` is in percent; else in the response's unit), ``change``, ``low``, ``high``, ``p`` (adjusted),
    ``conditions``, ``verdict`` (better, worse, inconclusive, or too few rounds), ``firm`` (whether it has no condition:
    ``shown``), ``failed`` and ``rejected`` (percent of calls: the most under one of its conditions, and the mean),
    ``keeps`` (whether no condition exceeded the limit on failed calls), and ``reference_failed`` and
    ``reference_keeps``, the same of what they are compared with. ``turns`` says that the mean hides an answer which
    depends on the condition: better under one of them, and worse under another. Where rounds stopped at one of several
    ``looks`` at what is compared, each word and interval is as sure as one look must be (``stopping.looking``).
    """
    responses = list(better) if len(pairs) else []
    measured = measured_by_scenario(rounds, responses)
    outcomes = _outcomes(rounds)
    failures = dict(zip(outcomes["scenario"], outcomes["failed"], strict=True))
    frame = pd.DataFrame(pairs, columns=list(Pair._fields)).merge(outcomes, on="scenario", how="left")
    frame["reference_failed"] = frame["baseline"].map(failures) if len(frame) else []
    judged = {
        kind: _judged(
            _joined([_changes(frame, by, measured, name, (failure_limit, looks)) for name in responses]), better, looks
        )
        for kind, by in _GROUPS.items()
    }
    single = judged["scenario"]
    return {kind: _with_turns(table, single, _GROUPS[kind]) for kind, table in judged.items()}


def _with_turns(table: pd.DataFrame, single: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Return the comparisons, each with whether it is a mean of better and worse conditions."""
    if table.empty:
        return table
    names = [*by, "response"]
    verdicts = single.groupby(names)["verdict"].agg(set)
    found = [set(DIFFERS) <= verdicts[tuple(key)] for key in table[names].itertuples(index=False, name=None)]
    return table.assign(turns=found)


def measured_by_scenario(rounds: pd.DataFrame, responses: Sequence[str]) -> dict[str, ScenarioRounds]:
    """Return each scenario's values of the responses, with the block of each."""
    if not responses or not len(rounds):
        return {}
    measured = scenarios(rounds.reset_index(drop=True), ColumnRoles(("scenario",), tuple(responses)))
    return {str(scenario.levels["scenario"]): scenario for scenario in measured}


def _outcomes(rounds: pd.DataFrame) -> pd.DataFrame:
    """Give what share of its calls each scenario failed and rejected, mean over its rounds, in percent."""
    names = {"failure_rate": "failed", "rejected_rate": "rejected"}
    kept = rounds.reindex(columns=["scenario", *names]).rename(columns=names)
    return kept.astype(dict.fromkeys(names.values(), float)).groupby("scenario", as_index=False).mean()


def _changes(
    pairs: pd.DataFrame,
    by: list[str],
    measured: dict[str, ScenarioRounds],
    response: str,
    limit_and_looks: tuple[float, int],
) -> pd.DataFrame:
    """Compare the groups of pairs in one response."""
    failure_limit, looks = limit_and_looks
    level = together(CONFIDENCE, looks)
    relative = is_relative(response, *(scenario.values[response] for scenario in measured.values()))
    rows = [
        {**_identity(part, by), **_change(part, measured, response, relative, level), **_kept(part, failure_limit)}
        for _, part in pairs.groupby(by, sort=False)
    ]
    return pd.DataFrame(rows).assign(response=response, relative=relative)


def _judged(table: pd.DataFrame, better: Directions, looks: int) -> pd.DataFrame:
    """Return the comparisons with their verdicts, p values adjusted for the number of all that bear one."""
    if table.empty:
        return table
    bears = np.array([better[name] is not Better.NEITHER for name in table["response"]])
    p_values = PValues(table["p"].to_numpy(float), table["firm_p"].to_numpy(float))
    corrected = p_values.corrected(lambda p: _corrected(p, bears))
    shown = corrected.shown(FALSE_DISCOVERIES / looks)
    table = table.assign(p=corrected.even, firm=[one is not Shown.IF_EVEN for one in shown]).drop(columns="firm_p")
    judged = zip(table["response"], table["p"], table["change"], shown, strict=True)
    return table.assign(verdict=[_verdict(better[response], p, change, how) for response, p, change, how in judged])


def _corrected(p: Floats, bears: Bools) -> Floats:
    """Correct those that bear a verdict for their number, and the rest for theirs."""
    reported, rest = (false_discoveries(np.where(which, p, np.nan)) for which in (bears, ~bears))
    return np.where(bears, reported, rest)


def _kept(part: pd.DataFrame, failure_limit: float) -> dict[str, object]:
    failed = float(part["failed"].max())
    return {
        "failed": failed,
        "rejected": float(part["rejected"].mean()),
        "reference_failed": float(part["reference_failed"].max()),
        "keeps": not failed > failure_limit,
        "reference_keeps": not part["reference_failed"].max() > failure_limit,
    }


def _identity(part: pd.DataFrame, by: Sequence[str]) -> dict[str, object]:
    first = part.iloc[0]
    names = ["item", "line", "client"]
    names += ["x", "x_text"] if "item" not in by or "x" in by else []
    names += ["scenario", "condition"] if by == ["scenario"] else []
    return {name: first[name] for name in names}


def _change(
    part: pd.DataFrame, measured: dict[str, ScenarioRounds], response: str, relative: bool, level: float
) -> dict[str, object]:
    """Average the change over the conditions of a group."""
    matched = [
        (measured.get(base), measured.get(mine)) for base, mine in zip(part["baseline"], part["scenario"], strict=True)
    ]
    estimate, conditions = over_conditions([(a, b) for a, b in matched if a and b], response, relative)
    low, high = estimate.ends(level)
    return {
        "change": in_unit(estimate.value, relative),
        "low": in_unit(low, relative),
        "high": in_unit(high, relative),
        "p": float(estimate.p),
        "firm_p": float(estimate.firm_p),
        "conditions": conditions,
    }


def _joined(tables: list[pd.DataFrame]) -> pd.DataFrame:
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()


def _verdict(better: Better, p: float, change: float, shown: Shown) -> Verdict:
    if np.isnan(p):
        return Verdict.TOO_FEW
    if not shown or change == 0 or better is Better.NEITHER:
        return Verdict.INCONCLUSIVE
    return Verdict.BETTER if (change < 0) == (better is Better.LOWER) else Verdict.WORSE
