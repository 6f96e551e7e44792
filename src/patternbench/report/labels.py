"""The words for responses, factors and values in a report."""

import json
import math
import re
from collections.abc import Mapping

from patternbench.observe.registry import responses, responses_of
from patternbench.plan.factors import Factor, Level
from patternbench.study.model.settings import is_duration
from patternbench.study.watching import NOTHING_ASKED, Watch
from patternbench.terms.quantities import number
from patternbench.terms.responses import BY_NAME, Better, Response, in_order
from patternbench.terms.roles import Unit
from patternbench.terms.units import Duration

RESPONSES: Mapping[str, Response] = in_order({**BY_NAME, **{response.name: response for response in responses()}})
"""Every response that the report can show, those asked for most first, those of observers last."""

_LOOKS: Mapping[Better, Mapping[str, str]] = {
    Better.LOWER: {"higher": "worse", "lower": "better"},
    Better.HIGHER: {"higher": "better", "lower": "worse"},
    Better.NEITHER: {},
}


def looks_of_changes(response: str) -> Mapping[str, str]:
    """Return which change of a response looks better and which worse; none where that depends or isn't known."""
    return _LOOKS[RESPONSES[response].better] if response in RESPONSES else {}


_UNITS = {
    "percent": (" %", 1.0),
    "rate": ("/s", 1.0),
    "factor": ("×", 1.0),
    "share": ("", 1.0),
    "count": ("", 1.0),
}
_LONGEST_IN_MS = 2.0


def units_of_observers(watch: Watch = NOTHING_ASKED) -> dict[str, str]:
    """Return the unit in the records of each response that observers of a study measure."""
    in_records = {kind: name.strip() for kind, (name, _) in _UNITS.items()} | {"time": "s"}
    return {response.name: response.unit or in_records[response.kind] for response in responses_of(watch)}


def unit(kind: str, largest: float) -> tuple[str, float]:
    """Choose the unit to show values of a kind in, and the factor from the records' unit to it.

    Times are shown in milliseconds while the largest stays below 2 s.
    """
    if kind == "time":
        return ("ms", 1000.0) if largest < _LONGEST_IN_MS else ("s", 1.0)
    return _UNITS[kind]


def shown(value: float | None, kind: str) -> str:
    """Write a value of a kind with its unit, to three significant digits; a dash when it is undefined."""
    if value is None or math.isnan(value):
        return "–"
    name, factor = unit(kind, abs(value))
    glue = " " if name in ("ms", "s") else ""
    return f"{number(value * factor)}{glue}{name}"


TITLES: Mapping[tuple[str, ...], str] = {
    ("retry", "max_attempts"): "attempts",
    ("exponential", "initial"): "first back-off",
    ("linear", "initial"): "first back-off",
    ("fixed", "delay"): "back-off",
}
"""Titles of factors whose path ends in words that are unclear or misleading by themselves."""
_UNTOLD = ("when", "parameters")
"""Parts of a path that tell a reader nothing."""


def factor_title(name: str) -> str:
    """Turn a factor's name into words: the last two telling parts of its path, such as ``abort percentage``."""
    parts = [part for part in name.split(".") if not part.isdigit() and part not in _UNTOLD]
    return TITLES.get(tuple(parts[-2:])) or " ".join(parts[-2:]).replace("_", " ")


def numeric(level: object, unit: Unit) -> float | None:
    """Read a level as a number (a duration in seconds); None for any other level."""
    if unit is Unit.DURATION and isinstance(level, str) and is_duration(level):
        return Duration.parse(level).seconds
    if isinstance(level, bool) or not isinstance(level, int | float) or math.isnan(level):
        return None
    return float(level)


def level_with_unit(factor: Factor, level: Level) -> str:
    """Write a level with the unit that a study leaves out: ``40 %``, ``250/s``."""
    text = level_text(level)
    if factor.unit is Unit.RATE and re.fullmatch(r"[0-9.,]+", text):
        return f"{text}/s"
    return f"{text}\u00a0%" if factor.unit is Unit.PERCENT else text


def switch_text(factor: Factor, level: object) -> str | None:
    """Write a level of what is on or off: ``breaker``, ``no breaker``; None for any other factor."""
    if not all(isinstance(one, bool) for one in factor.levels):
        return None
    return f"{'' if str(level) == str(True) else 'no '}{factor_title(factor.name)}"


def level_text(level: object) -> str:
    """Write a level as a person would: durations and words as they are, structures as compact JSON."""
    if isinstance(level, str):
        return re.sub(r"^([0-9.]+)(us|µs|ms|s|m|h)$", r"\1 \2", level)
    if isinstance(level, float):
        return number(level)
    return str(level) if isinstance(level, int) else json.dumps(level, ensure_ascii=False, default=str)
