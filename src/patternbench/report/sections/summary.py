"""The short table at the end of a run: the main responses of each scenario, the hardest conditions first."""

from collections.abc import Iterable, Sequence

import pandas as pd
from rich import box
from rich.table import Table

from patternbench.report.labels import RESPONSES, shown
from patternbench.report.layout import Layout, PlacedScenario, distinct, layout
from patternbench.report.model import RunReport, warnings

ROWS = 15
_SHOWN = {
    "success_rate": "success",
    "goodput": "goodput",
    "time_to_success": "per ok",
    "call_success_p95": "p95 (ok)",
    "rejected_rate": "rejected",
    "limited_rate": "limited",
}
_IF_ANY = ("rejected_rate", "limited_rate")
"""Of those the one that says more, in how the calls were turned away: by the client's own pattern, or by a limit."""


def summary_table(report: RunReport, limit: int = ROWS) -> Table:
    """Make the table at the end of a run: at most ``limit`` scenarios with medians over their finished rounds.

    If there are more, those with the highest level on the horizontal axis and in the last column come first, so that
    the rows can be compared. The caption counts the others.
    """
    table = Table(
        title=report.study_name,
        caption=caption(report, limit),
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        show_edge=False,
    )
    table.title_justify = table.caption_justify = "left"
    table.add_column("condition", overflow="fold")
    table.add_column("configuration", overflow="fold")
    titles = {name: title for name, title in _SHOWN.items() if name in report.rounds.columns and _says(report, name)}
    for title in titles.values():
        table.add_column(title, justify="right", no_wrap=True)
    medians = _medians(report, list(titles))
    stated = ""
    for row in _hardest(layout(report), limit):
        condition = row.condition if row.condition != stated else ""
        stated = row.condition
        table.add_row(condition, row.item, *_values(medians, row.scenario, titles))
    return table


def _says(report: RunReport, name: str) -> bool:
    """Whether a column is worth its place.

    Calls that a limit rejected are shown only where there were any. Without users who wait, the time per successful
    call is nothing but the inverse of goodput.
    """
    if name == "time_to_success":
        return any(scenario.config.users_wait for scenario in report.scenarios)
    mine, other = (bool((report.done.get(one, pd.Series(dtype=float)) > 0).any()) for one in _IF_ANY)
    return {"rejected_rate": mine or not other, "limited_rate": other}.get(name, True)


def caption(report: RunReport, limit: int = ROWS) -> str:
    """Count what the table leaves out: further scenarios, failed rounds, warnings, parts of the study."""
    count = sum(warning.rounds for warning in warnings(report))
    parts = [
        _more(len(report.scenarios) - limit),
        _count(len(report.failed), "failed round"),
        _count(len(report.not_valid), "round", after=" not valid, left out"),
        _count(count, "warning"),
        _count(len(report.left_out), "part of the study", "parts of the study", " left out"),
    ]
    return "medians over rounds" + "".join(f"; {part}" for part in parts if part)


def _more(count: int) -> str:
    return f"{count:,} more scenario{'' if count == 1 else 's'} in the report" if count > 0 else ""


def _count(count: int, one: str, many: str = "", after: str = "") -> str:
    return f"{count:,} {one if count == 1 else many or one + 's'}{after}" if count else ""


def _hardest(arrangement: Layout, limit: int) -> Sequence[PlacedScenario]:
    """Take scenarios backwards from the end of the axis and the last column; in the plan's order if all fit."""
    rows = arrangement.scenarios
    if len(rows) <= limit:
        return rows
    columns = distinct(row.column for row in rows)
    along = 1.0 if arrangement.axis.quantity else 0.0
    return sorted(rows, key=lambda row: (-along * row.x, -columns.index(row.column)))[:limit]


def _medians(report: RunReport, names: list[str]) -> dict[tuple[str, str], float]:
    table = report.by_scenario.medians(names)
    keys = zip(table["scenario"], table["response"], strict=True)
    return dict(zip(keys, table["median"].astype(float), strict=True))


def _values(medians: dict[tuple[str, str], float], scenario: str, names: Iterable[str]) -> list[str]:
    return [shown(medians.get((scenario, name)), RESPONSES[name].kind) for name in names]
