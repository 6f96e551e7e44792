"""A claim as a study writes it, and as a value: which change of which response is expected between which levels.

A change in percent is that of a ratio, and its margin is the same step down as up. A share of calls is near 0 or
100, so its changes are in percentage points. Times take a unit of time, other responses a bare number in their own
unit.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NotRequired, TypedDict

from patternbench.analyze.statements.verdict import HIGHER, LOWER, Expected, in_percent, same_within
from patternbench.terms.data_problems import DataError, DataProblem
from patternbench.terms.factors import NO_UNITS
from patternbench.terms.quantities import MINUS, SHARES, TIMES, UNITS
from patternbench.terms.responses import BY_NAME
from patternbench.terms.responses import UNITS as UNITS_IN_RECORDS

Level = str | int | float | bool | None
Levels = Mapping[str, Level]
LevelSets = Mapping[str, Sequence[Level]]
"""The levels that a claim allows of each factor that it names."""
MEAN = "mean"
_AMOUNT = r"(\d+(?:\.\d+)?)\s*(%|points?|us|ms|s|m)?"
_BOUND = re.compile(rf"([<>])\s*([+-]?)\s*{_AMOUNT}")
_MARGIN = re.compile(_AMOUNT)
_CHANGES = "higher, lower, same (with a margin), or a bound such as `> +10 %`"


class ClaimText(TypedDict):
    """A claim as plain data, as a study holds it."""

    says: str
    response: str
    change: str
    margin: str | None
    from_: dict[str, Level | list[Level]]
    to: dict[str, Level | list[Level]]
    where: dict[str, Level | list[Level]]
    over: str | list[str] | None
    than: NotRequired[dict[str, Level | list[Level]]]
    published: str | None


@dataclass(frozen=True)
class Claim:
    """An expected change of a response between levels.

    ``relative`` says whether the change is that of a ratio, in percent; None where that follows from the values.
    Its pairs go from scenarios with some of the levels of ``start`` to those with some of ``end``. ``where`` restricts
    both. ``of_mean`` claims the mean over all pairs instead of each, ``over`` the mean over some factors under each of
    the other levels. ``than`` compares the change with that under other levels than those of ``where``.
    ``unit`` is that of a response that an observer measures.
    """

    says: str
    response: str
    expected: Expected
    relative: bool | None
    start: LevelSets
    end: LevelSets
    where: LevelSets
    of_mean: bool = False
    published: str = ""
    over: tuple[str, ...] = ()
    than: LevelSets = field(default_factory=dict)
    unit: str = ""

    @property
    def factors(self) -> set[str]:
        """The factors that it names on either side."""
        return {*self.start, *self.end}

    @property
    def changed(self) -> set[str]:
        """The factors that may differ between both sides: those that it names on both."""
        return {*self.start} & {*self.end}


@dataclass(frozen=True)
class _Direction:
    """An expected change as parsed: its range, and whether it is that of a ratio."""

    expected: Expected
    relative: bool | None


def parse_claim(text: ClaimText, path: str, units: Mapping[str, str] = NO_UNITS) -> Claim:
    """Return the claim that a study writes at a path; raises ``DataError`` with what is allowed.

    ``units`` has the unit in the records of each response that observers measure.
    """
    declared = units.get(text["response"], "")
    change = _change(text, path, declared)
    start, end, where = (_level_sets(levels) for levels in (text["from_"], text["to"], text["where"]))
    over, than = text["over"], _level_sets(text.get("than", {}))
    averaged = tuple(over) if isinstance(over, list) else ()
    sides = change.expected, change.relative, start, end, where, over == MEAN, text["published"] or ""
    return Claim(text["says"], text["response"], *sides, averaged, than, declared)


def _level_sets(levels: Mapping[str, Level | list[Level]]) -> LevelSets:
    return {name: tuple(level) if isinstance(level, list) else (level,) for name, level in levels.items()}


def amount_of(text: str, response: str, declared: str = "") -> tuple[float, bool] | None:
    """Return the change that a text begins with, such as ``+31 %``, and whether it is in percent; else None.

    It is in the response's own unit if it isn't in percent.
    """
    match = re.match(rf"\s*([+\-\u2212]?)\s*{_AMOUNT}", text)
    if match is None or _unit_problem(response, match[3], declared):
        return None
    amount = float(match[2]) * UNITS.get(match[3] or "", 1.0)
    return (amount if match[1] in ("", "+") else -amount), match[3] == "%"


def _change(text: ClaimText, path: str, declared: str) -> _Direction:
    change, margin = text["change"].strip(), text["margin"]
    if change == "same":
        return _same(text["response"], margin, path, declared)
    if margin is not None:
        raise _problem("a margin goes with `change: same`", f"{path}.margin", "Leave it out, or write `change: same`.")
    if change in ("higher", "lower"):
        return _Direction(HIGHER if change == "higher" else LOWER, None)
    return _bound(text["response"], change, f"{path}.change", declared)


def _same(response: str, margin: str | None, path: str, declared: str) -> _Direction:
    if margin is None:
        remedy = f"Write for example `margin: {_example(response)}`."
        raise _problem("`change: same` needs a margin: nothing is shown to be exactly equal", f"{path}.change", remedy)
    match = _MARGIN.fullmatch(margin.strip())
    if match is None or not float(match[1]):
        remedy = f"Write an amount above 0, such as `{_example(response)}`."
        raise _problem(f"'{margin}' isn't a margin", f"{path}.margin", remedy)
    amount, unit = float(match[1]), match[2]
    size, relative = _sized(response, amount, unit, f"{path}.margin", declared)
    expected = in_percent(size) if relative else same_within(-size, size)
    return _Direction(replace(expected, words=f"the same within {_written(amount, unit)}"), relative)


def _bound(response: str, change: str, path: str, declared: str) -> _Direction:
    match = _BOUND.fullmatch(change)
    if match is None:
        raise _problem(f"'{change}' isn't a change", path, f"Allowed: {_CHANGES}.")
    beyond, sign, amount, unit = match[1], match[2], float(match[3]), match[4]
    if amount and not sign:
        remedy = f"Write `{beyond} +{_written(amount, unit)}` or `{beyond} -{_written(amount, unit)}`."
        raise _problem(f"'{change}' lacks the sign of its change", path, remedy)
    size, relative = _sized(response, amount, unit, path, declared)
    bound = -size if sign == "-" else size
    words = f"{beyond} {MINUS if sign == '-' else sign or ''}{_written(amount, unit)}"
    return _Direction(Expected(words, low=bound) if beyond == ">" else Expected(words, high=bound), relative)


def _sized(response: str, amount: float, unit: str | None, path: str, declared: str) -> tuple[float, bool]:
    """Return an amount in percent or in the response's own unit, and whether it is in percent."""
    wrong = _unit_problem(response, unit, declared)
    if wrong:
        raise _problem(wrong, path, f"Write for example `{_example(response)}`.")
    return amount * UNITS.get(unit or "", 1.0), unit == "%"


def _unit_problem(response: str, unit: str | None, declared: str) -> str:
    is_time = response in TIMES or declared == UNITS_IN_RECORDS["time"]
    points = unit in ("point", "points")
    if response in SHARES:
        return "" if points else f"{response} is a share of calls, which changes by percentage points"
    if points and (is_time or response in BY_NAME):
        return f"{response} isn't a share of calls, so it does not change by points"
    if is_time and unit is None:
        return f"{response} is a time, so its change needs a unit (us, ms, s, m) or %"
    if not is_time and unit in UNITS:
        return f"{response} isn't a time, so its change has no unit {unit}"
    return ""


def _example(response: str) -> str:
    return "1 point" if response in SHARES else "10 %"


def _written(amount: float, unit: str | None) -> str:
    if unit is None or unit in UNITS:
        return f"{amount:g}{unit or ''}"
    one = unit.removesuffix("s") if amount == 1 else unit
    return f"{amount:g} {one}"


def _problem(what: str, path: str, remedy: str) -> DataError:
    return DataError(DataProblem(f"{what}.", path, remedy))
