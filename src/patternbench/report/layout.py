"""The position of each scenario in the figures: its panel, its place on the horizontal axis, its line."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from patternbench.plan.factors import Factor, Factors, Level, is_baseline
from patternbench.report.acting_faults import FAULT, Levels, acting_faults
from patternbench.report.labels import factor_title, level_text, level_with_unit, numeric, switch_text
from patternbench.report.model import RunReport
from patternbench.report.roles import Roles, roles
from patternbench.study.roles import Role, Unit

_MOST_WIDTHS = 6


@dataclass(frozen=True)
class Axis:
    """The horizontal axis: title with unit, positions and texts of its levels; whether it is a `quantity`."""

    title: str
    places: tuple[float, ...]
    texts: tuple[str, ...]
    quantity: bool

    def named(self, text: str, *, first: bool = False, last: bool = False) -> str:
        """Write a level, a bare number with what it counts: `25 users`, `size 10`; of `first` to `last` only once."""
        if not text.isdigit():
            return text
        if self.title.endswith("s"):
            return text if first else f"{text} {self.title}"
        return text if last else f"{self.title} {text}"


@dataclass(frozen=True)
class Layout:
    """The arrangement of a run's figures.

    `factors` and the `levels` of each scenario are the plan's, with several faults as one (`acting_faults`).
    `scenarios` has one row per scenario, in the plan's order: `scenario`, `row`, `column`, `panel`, `x` (place
    on the axis), `x_text`, `strategy`, `detail` (what tells apart the lines of a strategy, "" when nothing),
    `line`, `client` ("" when the study has one), `item` (the line and the client), `condition`, `reference`
    (whether other lines are compared with it) and `baseline` (the scenario that it is compared with, None when
    there is none).
    """

    factors: Factors
    roles: Roles
    axis: Axis
    scenarios: pd.DataFrame
    levels: Sequence[Levels]

    def order(self, column: str) -> list[str]:
        """List the values of a column in the plan's order."""
        return list(dict.fromkeys(self.scenarios[column]))

    @property
    def details(self) -> list[str]:
        """The details that distinguish lines, simple ones first; empty if there are too many for widths."""
        details = sorted(self.order("detail"), key=lambda text: (text != "", _by_number(text)))
        return details if 1 < len(details) <= _MOST_WIDTHS else []

    @property
    def reference(self) -> str:
        """The label of the line that the others are compared with. Each client has its own, so it names none."""
        column = "strategy" if _of_details(self.factors, self.roles) else "line"
        lines = self.scenarios.loc[self.scenarios["reference"], column]
        return str(lines.iloc[0]) if len(lines) else ""


def layout(report: RunReport) -> Layout:
    """Arrange the scenarios of a run by the roles of its factors."""
    faults = acting_faults(report.factors, report.scenarios)
    factors, levels = faults.factors, [faults.told(scenario.levels) for scenario in report.scenarios]
    partial = {name for name in factors if any(scenario_levels.get(name) is None for scenario_levels in levels)}
    roles_ = roles(factors, partial)
    axis = _axis(factors, roles_)
    table = pd.DataFrame([_placed(own, factors, roles_, axis) for own in levels])
    table.insert(0, "scenario", [scenario.id for scenario in report.scenarios])
    table["detail"] = _details(levels, table["strategy"].tolist(), [factors[name] for name in roles_.detail])
    table["line"] = [line(*pair) for pair in zip(table["strategy"], table["detail"], strict=True)]
    table["item"] = table["line"] if _of_details(factors, roles_) else _with_clients(table)
    if roles_.x is None:
        table["x_text"] = table["line"]
        table["x"] = pd.factorize(table["line"])[0]
        axis = _of_lines(table)
    table["reference"] = _references(table, levels, factors, roles_)
    table["baseline"] = _baselines(table, levels, factors)
    return Layout(factors, roles_, axis, table, levels)


def _placed(levels: Levels, factors: Factors, roles: Roles, axis: Axis) -> dict[str, object]:
    row, column = (_named(factors[name], levels[name]) if name else "" for name in (roles.row, roles.column))
    level_index = list(factors[roles.x].levels).index(levels[roles.x]) if roles.x else 0
    conditions = _conditions(factors, roles)
    client = next((name for name in conditions if factors[name].role is Role.CLIENT), None)
    return {
        "row": row,
        "column": column,
        "panel": " · ".join(part for part in (row, column) if part),
        "x": axis.places[level_index] if axis.places else 0.0,
        "x_text": axis.texts[level_index] if axis.texts else "",
        "strategy": _words(factors[roles.color], levels.get(roles.color)) if roles.color else "all",
        "client": level_text(levels[client]) if client else "",
        "condition": ", ".join(
            _named(factors[name], levels[name])
            for name in conditions
            if name != client and levels.get(name) is not None
        ),
    }


def _conditions(factors: Factors, roles: Roles) -> list[str]:
    """The factors that are equal between compared patterns: those of the conditions, and others without a pattern."""
    return [*roles.outside, *(name for name in roles.detail if factors[name].role is not Role.PATTERN)]


def _of_details(factors: Factors, roles: Roles) -> bool:
    """Whether the details of lines name their clients."""
    return any(factors[name].role is Role.CLIENT for name in roles.detail)


def _with_clients(table: pd.DataFrame) -> list[str]:
    """Name each line together with its client, when the study has several."""
    pairs = zip(table["line"], table["client"], strict=True)
    return [f"{line} ({client})" if client else line for line, client in pairs]


def _named(factor: Factor, level: Level) -> str:
    """Write a level with its factor: `100 users`, `abort percentage 40 %`, `open for 20 ms`, `no breaker`.

    A client is named by itself.
    """
    if factor.role is Role.CLIENT:
        return level_text(level)
    switched = switch_text(factor, level)
    if switched is not None:
        return switched
    title, text = factor_title(factor.name), level_with_unit(factor, level)
    if factor.role is Role.PATTERN:
        text = text.replace("_", " ")
    if factor.name == FAULT:
        return text
    counted = factor.unit is not Unit.PERCENT and numeric(level, factor.unit) is not None and title.endswith("s")
    if counted:
        return f"{text} {title.removesuffix('s') if text == '1' else title}"
    return f"{title} {text}"


def _words(factor: Factor, level: Level) -> str:
    return "none" if level is None else pattern_text(factor, level_text(level))


def pattern_text(factor: Factor, text: str) -> str:
    """Write a level of the pattern that names a configuration: `circuit breaker`, `no breaker`, `no limiter`."""
    words = f"no {factor_title(factor.name)}" if text == "none" else text.replace("_", " ")
    return switch_text(factor, text) or words


def _axis(factors: Factors, roles: Roles) -> Axis:
    if roles.x is None:
        return Axis("", (), (), quantity=False)
    factor = factors[roles.x]
    values = [numeric(level, factor.unit) or 0.0 for level in factor.levels]
    texts = tuple(level_with_unit(factor, level) for level in factor.levels)
    units = {Unit.PERCENT: (" (%)", 1.0), Unit.DURATION: (" (ms)", 1000.0), Unit.RATE: (" (per second)", 1.0)}
    unit, scale = units.get(factor.unit, ("", 1.0))
    return Axis(f"{factor_title(factor.name)}{unit}", tuple(scale * value for value in values), texts, quantity=True)


def _of_lines(table: pd.DataFrame) -> Axis:
    lines = tuple(dict.fromkeys(table["line"]))
    return Axis("", tuple(float(index) for index in range(len(lines))), lines, quantity=False)


def _details(levels: Sequence[Levels], strategies: Sequence[str], factors: Sequence[Factor]) -> list[str]:
    """The details that distinguish each scenario's line from others of its strategy."""
    varying = {strategy: _varying(levels, strategies, strategy, factors) for strategy in strategies}
    return [
        detail([(factor, level.get(factor.name)) for factor in varying[strategy]])
        for level, strategy in zip(levels, strategies, strict=True)
    ]


def _varying(
    levels: Sequence[Levels], strategies: Sequence[str], strategy: str, factors: Sequence[Factor]
) -> list[Factor]:
    mine = [level for level, theirs in zip(levels, strategies, strict=True) if theirs == strategy]
    return [factor for factor in factors if len({level_text(level.get(factor.name)) for level in mine}) > 1]


def detail(levels: Sequence[tuple[Factor, Level]]) -> str:
    """Name a configuration by its levels. Patterns at none aren't named, and a single duration needs no name."""
    shown = [(factor, level) for factor, level in levels if level is not None and not _is_none(factor, level)]
    if len(shown) == 1 and shown[0][0].unit is Unit.DURATION:
        return level_text(shown[0][1])
    return ", ".join(_named(factor, level) for factor, level in shown)


def _is_none(factor: Factor, level: Level) -> bool:
    return factor.none is not None and level_text(level) == level_text(factor.none)


def line(strategy: str, detail: str) -> str:
    """Name a strategy with its configuration, which doesn't repeat it: `retry · 5 ms`, `retry · jitter full`."""
    told = ", ".join(part.removeprefix(f"{strategy} ") for part in detail.split(", "))
    return f"{strategy} · {told}" if told else strategy


def _references(table: pd.DataFrame, levels: Sequence[Levels], factors: Factors, roles: Roles) -> "pd.Series[bool]":
    """Mark the baseline, which has every pattern at none; in a study without one, the first declared line.

    Where everything has its patterns at none, a pattern that cannot be none may still distinguish lines.
    """
    baselines = pd.Series([is_baseline(scenario_levels, factors) for scenario_levels in levels], index=table.index)
    pattern = roles.color is not None and factors[roles.color].role is Role.PATTERN
    told = baselines.any() and not (baselines.all() and pattern)
    return baselines if told else table["line"] == table["line"].iloc[0]


def _baselines(table: pd.DataFrame, levels: Sequence[Levels], factors: Factors) -> list[str | None]:
    """The reference of each scenario under its own condition; of several, the most similar one."""
    places: dict[tuple[str, str], list[int]] = {}
    keys = list(zip(table["client"], table["condition"], strict=True))
    for row in table.index[table["reference"]]:
        places.setdefault(keys[row], []).append(row)
    patterns = [name for name, factor in factors.items() if factor.role is Role.PATTERN]

    def unlike(reference: int, scenario: int) -> int:
        return sum(levels[reference].get(name) != levels[scenario].get(name) for name in patterns)

    def nearest(scenario: int) -> int | None:
        return min(places.get(keys[scenario], []), key=lambda one: unlike(one, scenario), default=None)

    nearest_rows = map(nearest, range(len(keys)))
    return [None if row is None else str(table["scenario"].iloc[row]) for row in nearest_rows]


def _by_number(text: str) -> tuple[float, str]:
    match = re.search(r"[0-9.]+", text)
    return (float(match[0]) if match else 0.0, text)
