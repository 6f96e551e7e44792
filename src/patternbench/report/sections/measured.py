"""Headlines of a run that compares nothing: each response at the lightest and at the heaviest load, in words."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from patternbench.analyze.statements.verdict import Verdict
from patternbench.report.figures.scenarios import FEWEST
from patternbench.report.labels import RESPONSES, shown
from patternbench.report.layout import Layout
from patternbench.report.model import RunReport
from patternbench.report.sections.findings import Headline
from patternbench.terms.responses import IN_SHORT


def measured(report: RunReport, arrangement: Layout) -> list[Headline]:
    """Say what each main response was at both ends of the axis; without an axis, in each scenario."""
    names = [name for name in IN_SHORT if name in report.rounds.columns and report.done[name].notna().any()]
    if not names:
        return []
    table = report.by_scenario.medians(names).merge(arrangement.frame(), on="scenario")
    return [_headline(name, table[table["response"] == name]) for name in names]


def _headline(name: str, rows: pd.DataFrame) -> Headline:
    ends, several = _ends(rows), rows["line"].nunique() > 1
    parts = [_at(name, row, several) for row in ends]
    between = len(rows) - len(ends)
    more = f"The figures show {between} scenario{'' if between == 1 else 's'} between them." if between else ""
    return Headline(RESPONSES[name].title, f"{'; '.join(parts)}.", (more,) if more else (), Verdict.INCONCLUSIVE)


def _ends(rows: pd.DataFrame) -> Sequence[pd.Series]:
    """Return the scenarios at both ends of the axis (lowest and highest median there), or the only scenario."""
    ordered = rows.sort_values(["x", "median"])
    return [ordered.iloc[0], ordered.iloc[-1]] if len(ordered) > 1 else [ordered.iloc[0]]


def _at(name: str, row: pd.Series, several: bool) -> str:
    """Return a response in one scenario, with its condition, and its line where there are several."""
    kind = RESPONSES[name].kind
    ends = f" ({shown(row['low'], kind)} to {shown(row['high'], kind)} over {row['rounds']:.0f} rounds)"
    where = ", ".join(filter(None, [row["item"] if several else "", row["condition"]]))
    value = f"{shown(row['median'], kind)}{ends if row['rounds'] >= FEWEST else ''}"
    return f"{value} at {where}" if where else value
