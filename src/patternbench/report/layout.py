"""The position of each scenario in the figures: its panel, its place on the horizontal axis, its line."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import pandas as pd

from patternbench.analyze.statements.pairing import references
from patternbench.plan.factors import Factor, Factors, Level
from patternbench.records.stored import PlannedScenario
from patternbench.report.acting_faults import FAULT, Levels, acting_faults
from patternbench.report.labels import factor_title, level_text, level_with_unit, numeric, switch_text
from patternbench.report.model import RunReport, once
from patternbench.report.roles import Roles, roles
from patternbench.terms.factors import FactorTable
from patternbench.terms.roles import Role, Unit

_MOST_WIDTHS = 6


@dataclass(frozen=True)
class Axis:
    """The horizontal axis: title with unit, positions and texts of its levels; whether it is a ``quantity``."""

    title: str
    places: tuple[float, ...]
    texts: tuple[str, ...]
    quantity: bool

    def named(self, text: str, *, first: bool = False, last: bool = False) -> str:
        """Write a level, a bare number with what it counts: ``25 users``, ``size 10``; of first to last only once."""
        if not text.isdigit():
            return text
        if self.title.endswith("s"):
            return text if first else f"{text} {self.title}"
        return text if last else f"{self.title} {text}"


@dataclass(frozen=True)
class PlacedScenario:
    """A scenario, by its id, with its position: in a panel of figures, on the axis, as a point of a line.

    ``x`` is its place on the axis. ``detail`` tells apart the lines of a strategy. ``client`` is "" if the study has
    one; ``item`` is the line and the client. ``off_axis`` is the condition without the level of the axis. With a
    ``reference`` other lines are compared. ``baseline`` is the scenario that it is compared with, if there is one.
    """

    scenario: str
    row: str
    column: str
    panel: str
    x: float
    x_text: str
    strategy: str
    client: str
    condition: str
    off_axis: str
    detail: str = ""
    line: str = ""
    item: str = ""
    reference: bool = False
    baseline: str | None = None


@dataclass(frozen=True)
class Layout:
    """The arrangement of a run's figures.

    ``factors`` and the ``levels`` of each scenario are the plan's, with several faults as one (``acting_faults``).
    ``scenarios`` are in the plan's order.
    """

    factors: Factors
    roles: Roles
    axis: Axis
    scenarios: Sequence[PlacedScenario]
    levels: Sequence[Levels]

    def frame(self) -> pd.DataFrame:
        """Give the scenarios as a table, with a column per field of ``PlacedScenario``, for figures and for medians."""
        return self._frame.copy()

    @cached_property
    def _frame(self) -> pd.DataFrame:
        return pd.DataFrame([vars(placed) for placed in self.scenarios])

    @property
    def names(self) -> dict[str, str]:
        """Each scenario in words, by its id: its line and its condition."""
        return {placed.scenario: _in_words(placed) for placed in self.scenarios}

    @property
    def details(self) -> list[str]:
        """The details that distinguish lines, simple ones first; empty if there are too many for widths."""
        details = sorted({placed.detail for placed in self.scenarios}, key=lambda text: (text != "", _by_number(text)))
        return details if 1 < len(details) <= _MOST_WIDTHS else []

    @property
    def axis_is_chosen(self) -> bool:
        """Whether the axis is a pattern, so that its levels are compared with each other."""
        return _is_chosen(self.factors, self.roles)

    @property
    def reference(self) -> str:
        """The label of the line that the others are compared with. Each client has its own, so it names none."""
        first = next((placed for placed in self.scenarios if placed.reference), None)
        if first is None:
            return ""
        if _of_details(self.factors, self.roles):
            return first.strategy
        return first.item.removesuffix(_client_in_brackets(first.client)) if self.axis_is_chosen else first.line


def _in_words(placed: PlacedScenario) -> str:
    return f"{placed.item}, {placed.condition}" if placed.condition else placed.item


def distinct(texts: Iterable[str]) -> list[str]:
    """Return the different ones of some texts, in their order."""
    return list(dict.fromkeys(texts))


@once
def layout(report: RunReport) -> Layout:
    """Arrange the scenarios of a run by the roles of its factors."""
    faults = acting_faults(report.factors, report.scenarios)
    factors, levels = faults.factors, [faults.reported(scenario.levels) for scenario in report.scenarios]
    partial = {name for name in factors if any(scenario_levels.get(name) is None for scenario_levels in levels)}
    roles_ = roles(factors, partial)
    axis = _axis(factors, roles_)
    placed = [
        _placed(scenario, own, factors, roles_, axis) for scenario, own in zip(report.scenarios, levels, strict=True)
    ]
    lined = _with_lines(placed, levels, factors, roles_)
    if roles_.x is None:
        lines = distinct(one.line for one in lined)
        axis = Axis("", tuple(map(float, range(len(lines)))), tuple(lines), quantity=False)
        lined = [replace(one, x=float(lines.index(one.line)), x_text=one.line) for one in lined]
    return Layout(factors, roles_, axis, _compared(lined, levels, factors, roles_), levels)


def _placed(scenario: PlannedScenario, levels: Levels, factors: Factors, roles: Roles, axis: Axis) -> PlacedScenario:
    """Return a scenario in its panel and on the axis, under its condition."""
    row, column = (_named(factors[name], levels[name]) if name else "" for name in (roles.row, roles.column))
    level_index = list(factors[roles.x].levels).index(levels[roles.x]) if roles.x else 0
    conditions = _conditions(factors, roles)
    client = next((name for name in conditions if factors[name].role is Role.CLIENT), None)
    others = [name for name in conditions if name != client and levels.get(name) is not None]
    return PlacedScenario(
        scenario=scenario.id,
        row=row,
        column=column,
        panel=" · ".join(part for part in (row, column) if part),
        x=axis.places[level_index] if axis.places else 0.0,
        x_text=axis.texts[level_index] if axis.texts else "",
        strategy=_words(factors[roles.color], levels.get(roles.color)) if roles.color else "all",
        client=level_text(levels[client]) if client else "",
        condition=", ".join(_named(factors[name], levels[name]) for name in others),
        off_axis=", ".join(_named(factors[name], levels[name]) for name in others if name != roles.x),
    )


def _with_lines(
    placed: Sequence[PlacedScenario], levels: Sequence[Levels], factors: Factors, roles: Roles
) -> list[PlacedScenario]:
    """Return the scenarios, each with its line and with the name by which it is compared."""
    details = _details(levels, [one.strategy for one in placed], [factors[name] for name in roles.detail])
    lines = [line(one.strategy, detail) for one, detail in zip(placed, details, strict=True)]
    items = [_item(one, text, own, factors, roles) for one, text, own in zip(placed, lines, levels, strict=True)]
    return [
        replace(one, detail=detail, line=line, item=item)
        for one, detail, line, item in zip(placed, details, lines, items, strict=True)
    ]


def _item(placed: PlacedScenario, line: str, levels: Levels, factors: Factors, roles: Roles) -> str:
    """Return what is compared: the level of a pattern on the axis, else a line, with its client among several."""
    if roles.x is not None and _is_chosen(factors, roles):
        return _named(factors[roles.x], levels[roles.x]) + _client_in_brackets(placed.client)
    return line if _of_details(factors, roles) else line + _client_in_brackets(placed.client)


def _client_in_brackets(client: str) -> str:
    return f" ({client})" if client else ""


def _compared(
    placed: Sequence[PlacedScenario], levels: Sequence[Levels], factors: Factors, roles: Roles
) -> list[PlacedScenario]:
    """Return the scenarios, each with whether it is a reference, and with its baseline."""
    reported = _references(placed, levels, factors)
    marked = [replace(one, reference=reference) for one, reference in zip(placed, reported, strict=True)]
    baselines = _baselines(marked, levels, factors)
    return [replace(one, baseline=baseline) for one, baseline in zip(marked, baselines, strict=True)]


def _conditions(factors: Factors, roles: Roles) -> list[str]:
    """Return the factors that are equal between compared patterns: the conditions, and those without a pattern.

    Where the axis is the pattern, the lines are among them.
    """
    chosen = _is_chosen(factors, roles)
    outside = [name for name in roles.outside if name != roles.x or not chosen]
    lines = [roles.color] if chosen and roles.color else []
    return [*outside, *(name for name in [*lines, *roles.detail] if factors[name].role is not Role.PATTERN)]


def _is_chosen(factors: Factors, roles: Roles) -> bool:
    """Whether the horizontal axis is a pattern."""
    return roles.x is not None and factors[roles.x].role is Role.PATTERN


def _of_details(factors: Factors, roles: Roles) -> bool:
    """Whether the details of lines name their clients."""
    return any(factors[name].role is Role.CLIENT for name in roles.detail)


def _named(factor: Factor, level: Level) -> str:
    """Write a level with its factor: ``100 users``, ``abort percentage 40 %``, ``open for 20 ms``, ``no breaker``.

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
    """Write a level of the pattern that names a configuration: ``circuit breaker``, ``no breaker``, ``no limiter``."""
    words = f"no {factor_title(factor.name)}" if text == "none" else text.replace("_", " ")
    if factor.unit in (Unit.COUNT, Unit.DURATION, Unit.RATE, Unit.PERCENT) and text != "none":
        words = f"{factor_title(factor.name)} {level_with_unit(factor, text)}"
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


def _details(levels: Sequence[Levels], strategies: Sequence[str], factors: Sequence[Factor]) -> list[str]:
    """Return the details that distinguish each scenario's line from others of its strategy."""
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
    """Name a strategy with its configuration, which doesn't repeat it: ``retry · 5 ms``, ``retry · jitter full``."""
    reported = ", ".join(part.removeprefix(f"{strategy} ") for part in detail.split(", "))
    return f"{strategy} · {reported}" if reported else strategy


def _references(placed: Sequence[PlacedScenario], levels: Sequence[Levels], factors: Factors) -> list[bool]:
    """Mark what the others are compared with, by the rule of every comparison; without patterns, the first line."""
    known = FactorTable.of(factor.as_json() for factor in factors.values() if factor.varies)
    return references(levels, known) if known.patterns else [one.line == placed[0].line for one in placed]


def _baselines(placed: Sequence[PlacedScenario], levels: Sequence[Levels], factors: Factors) -> list[str | None]:
    """Return the reference of each scenario under its own condition; of several, the most similar one."""
    references: dict[tuple[str, str], list[int]] = {}
    for index, one in enumerate(placed):
        if one.reference:
            references.setdefault((one.client, one.condition), []).append(index)
    patterns = [name for name, factor in factors.items() if factor.role is Role.PATTERN]

    def unlike(reference: int, scenario: int) -> int:
        return sum(levels[reference].get(name) != levels[scenario].get(name) for name in patterns)

    def nearest(scenario: int) -> str | None:
        under = references.get((placed[scenario].client, placed[scenario].condition), [])
        index = min(under, key=lambda reference: unlike(reference, scenario), default=None)
        return None if index is None else placed[index].scenario

    return [nearest(scenario) for scenario in range(len(placed))]


def _by_number(text: str) -> tuple[float, str]:
    match = re.search(r"[0-9.]+", text)
    return (float(match[0]) if match else 0.0, text)
