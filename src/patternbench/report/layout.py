"""Where each scenario stands in the figures: its panel, its place on the horizontal axis, its line."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from patternbench.report.labels import factor_title, is_duration, is_percentage, level_text, numeric
from patternbench.report.model import RunReport
from patternbench.report.roles import CLIENT, Roles, roles

_BASELINE = re.compile(r"^(baseline|none|no pattern)$", re.IGNORECASE)
_MOST_WIDTHS = 6


@dataclass(frozen=True)
class Axis:
    """The horizontal axis: title with unit, places of its levels, texts; `quantity` when it measures."""

    title: str
    places: tuple[float, ...]
    texts: tuple[str, ...]
    quantity: bool


@dataclass(frozen=True)
class Layout:
    """The arrangement of a run's figures.

    `scenarios` has one row a scenario, in the plan's order: `scenario`, `row`, `column`, `panel`, `x` (place
    on the axis), `x_text`, `strategy`, `detail` (what tells apart the lines of a strategy, "" when nothing),
    `line`, `client` ("" when the study has one), `condition` and `reference` (whether other lines are
    compared with it).
    """

    roles: Roles
    axis: Axis
    scenarios: pd.DataFrame

    def order(self, column: str) -> list[Any]:
        """List the values of a column in the plan's order."""
        return list(dict.fromkeys(self.scenarios[column]))

    @property
    def details(self) -> list[str]:
        """The details that lines are told apart by, plain ones first; empty when too many for widths."""
        found = sorted(self.order("detail"), key=lambda text: (text != "", _by_number(text)))
        return found if 1 < len(found) <= _MOST_WIDTHS else []

    @property
    def reference(self) -> str:
        """The label of the line that the others are compared with."""
        found = self.scenarios.loc[self.scenarios["reference"], "line"]
        return str(found.iloc[0]) if len(found) else ""


def layout(report: RunReport) -> Layout:
    """Arrange the scenarios of a run by the roles of its factors."""
    levels = [scenario["levels"] for scenario in report.scenarios]
    partial = {name for name in report.factors if any(each.get(name) is None for each in levels)}
    given = roles(report.factors, partial)
    axis = _axis(report.factors, given)
    table = pd.DataFrame([_placed(each, report.factors, given, axis) for each in report.scenarios])
    table["detail"] = _details(levels, table["strategy"].tolist(), given.detail)
    table["line"] = [line(*pair) for pair in zip(table["strategy"], table["detail"], strict=True)]
    if given.x is None:
        table["x_text"] = table["line"]
        table["x"] = pd.factorize(table["line"])[0]
        axis = _of_lines(table)
    table["reference"] = _references(table)
    return Layout(given, axis, table)


def item(client: str, line: str) -> str:
    """Name a line together with its client, when the study has several."""
    return f"{line} ({client})" if client else line


def _placed(
    scenario: Mapping[str, Any], factors: Mapping[str, Sequence[Any]], given: Roles, axis: Axis
) -> dict[str, Any]:
    levels = scenario["levels"]
    row, column = (_panel(name, levels) for name in (given.row, given.column))
    place = list(factors[given.x]).index(levels[given.x]) if given.x else 0
    client = next((name for name in given.outside if CLIENT.search(name)), None)
    return {
        "scenario": scenario["id"],
        "row": row,
        "column": column,
        "panel": " · ".join(part for part in (row, column) if part),
        "x": axis.places[place] if axis.places else 0.0,
        "x_text": axis.texts[place] if axis.texts else "",
        "strategy": _words(levels.get(given.color)) if given.color else "all",
        "client": level_text(levels[client]) if client else "",
        "condition": ", ".join(_named(name, levels[name]) for name in given.outside if name != client),
    }


def _panel(name: str | None, levels: Mapping[str, Any]) -> str:
    if name is None:
        return ""
    return level_text(levels[name]) if CLIENT.search(name) else _named(name, levels[name])


def _named(name: str, level: Any) -> str:
    """Write a level with its factor: `100 users`, `abort percentage 40 %`, `open for 20 ms`."""
    title, text = factor_title(name), level_text(level)
    if is_percentage(name):
        return f"{title} {text}\u00a0%"
    return f"{text} {title}" if numeric(level) is not None and title.endswith("s") else f"{title} {text}"


def _words(level: Any) -> str:
    return level_text(level).replace("_", " ")


def _axis(factors: Mapping[str, Sequence[Any]], given: Roles) -> Axis:
    if given.x is None:
        return Axis("", (), (), quantity=False)
    levels = factors[given.x]
    values = [numeric(level) or 0.0 for level in levels]
    title = factor_title(given.x)
    if is_percentage(given.x):
        return Axis(f"{title} (%)", tuple(values), tuple(f"{level_text(level)}\u00a0%" for level in levels), True)
    if any(is_duration(level) for level in levels):
        in_ms = tuple(1000 * value for value in values)
        return Axis(f"{title} (ms)", in_ms, tuple(level_text(level) for level in levels), True)
    return Axis(title, tuple(values), tuple(level_text(level) for level in levels), True)


def _of_lines(table: pd.DataFrame) -> Axis:
    lines = tuple(dict.fromkeys(table["line"]))
    return Axis("", tuple(float(place) for place in range(len(lines))), lines, quantity=False)


def _details(levels: Sequence[Mapping[str, Any]], strategies: Sequence[str], names: Sequence[str]) -> list[str]:
    """Say what tells each scenario's line apart from the others of its strategy."""
    varying = {strategy: _varying(levels, strategies, strategy, names) for strategy in strategies}
    return [
        detail({name: level.get(name) for name in varying[strategy]})
        for level, strategy in zip(levels, strategies, strict=True)
    ]


def _varying(
    levels: Sequence[Mapping[str, Any]], strategies: Sequence[str], strategy: str, names: Sequence[str]
) -> list[str]:
    mine = [level for level, theirs in zip(levels, strategies, strict=True) if theirs == strategy]
    return [name for name in names if len({level_text(level.get(name)) for level in mine}) > 1]


def detail(levels: Mapping[str, Any]) -> str:
    """Name a configuration by its levels: a lone duration needs no name."""
    given = {name: level for name, level in levels.items() if level is not None}
    if len(given) == 1:
        name, level = next(iter(given.items()))
        return level_text(level) if is_duration(level) else _named(name, level)
    return ", ".join(_named(name, level) for name, level in given.items())


def line(strategy: str, detail: str) -> str:
    """Name a strategy with its configuration: `retry · 5 ms`."""
    return f"{strategy} · {detail}" if detail else strategy


def _references(table: pd.DataFrame) -> "pd.Series[bool]":
    """Mark the baseline; in a study without one, the first line that was declared."""
    found = table["strategy"].map(lambda text: bool(_BASELINE.match(text)))
    return found if found.any() else table["line"] == table["line"].iloc[0]


def _by_number(text: str) -> tuple[float, str]:
    found = re.search(r"[0-9.]+", text)
    return (float(found[0]) if found else 0.0, text)
