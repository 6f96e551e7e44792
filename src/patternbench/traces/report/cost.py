"""What tracing costs: the rounds of each share against those of the same scenario without any tracing.

The comparison is that of the report's findings, with their verdicts: the mean over all scenarios, paired by block.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import pandas as pd

from patternbench.analyze.statements.lines import Change, Pair, changes
from patternbench.observe.section import Table
from patternbench.plan.factors import SAMPLE
from patternbench.records.stored import Level, PlannedScenario
from patternbench.report.labels import RESPONSES
from patternbench.report.sections.findings import against_references
from patternbench.study.watching import NOT_TRACED

TITLE = f"What tracing costs, against {NOT_TRACED} (mean over scenarios)"


def tables(scenarios: Sequence[PlannedScenario], rounds: pd.DataFrame) -> list[Table]:
    """Return what each share costs, where some scenario is also run without tracing.

    ``rounds`` are those that count.
    """
    pairs = _pairs(scenarios)
    if not pairs or rounds.empty:
        return []
    reported = against_references(rounds, pairs, failure_limit=math.inf)["item"]
    return [Table(TITLE, pd.DataFrame([_row(one) for one in changes(reported)]))] if len(reported) else []


def _pairs(scenarios: Iterable[PlannedScenario]) -> list[Pair]:
    """Each traced scenario with the one that is the same but for tracing."""
    listed = list(scenarios)
    untraced = {_others(one): one.id for one in listed if one.levels.get(SAMPLE) == NOT_TRACED}
    traced = [one for one in listed if one.levels.get(SAMPLE, NOT_TRACED) != NOT_TRACED and _others(one) in untraced]
    shares = [(one, str(one.levels[SAMPLE])) for one in traced]
    return [Pair(one.id, untraced[_others(one)], item=share, line=share) for one, share in shares]


def _others(scenario: PlannedScenario) -> frozenset[tuple[str, Level]]:
    """Return the levels of a scenario but for the share that is traced."""
    return frozenset((name, level) for name, level in scenario.levels.items() if name != SAMPLE)


def _row(change: Change) -> dict[str, str]:
    return {
        "traced": change.item,
        "response": RESPONSES[change.response].title,
        "change": change.text.change,
        "interval": change.text.interval,
        "verdict": f"{change.verdict.value}{change.condition}",
    }
