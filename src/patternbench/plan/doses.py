"""The doses of a search as levels of a study: which field holds them, and which scenarios are one configuration."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from pydantic import ValidationError

from patternbench.plan.factors import Level, factor_name
from patternbench.plan.scenarios import content_id
from patternbench.study.boundary import Boundary
from patternbench.study.faults import Fault, by_name
from patternbench.study.faults.kind import Kind
from patternbench.study.model.levels import Levels
from patternbench.study.model.parts import FASTEST, written
from patternbench.study.model.share import ShareOfCapacity
from patternbench.study.model.tree import Path
from patternbench.study.models import Study
from patternbench.terms.doses import Dose, DoseUnit
from patternbench.terms.problems import InputError, Problem, did_you_mean
from patternbench.terms.units import LONGEST_US, Duration

RATE: Path = ("workload", "open", "rate")
WINDOW: Path = ("when", "for")
PERCENTAGE = "percentage"
OVER, BETWEEN = "boundary.over", "boundary.between"
_US = 1e6
_WRITTEN = {
    DoseUnit.TIME: "times such as `[500ms, 5s]`",
    DoseUnit.PERCENT: "shares such as `[30 %, 90 %]`",
    DoseUnit.NUMBER: "numbers such as `[30, 120]`",
}


@dataclass(frozen=True)
class DoseField:
    """A field of a study that can hold doses: its path in a configuration, its units, its levels as the study has them.

    ``takes`` says whether a level is allowed there.
    """

    path: Path
    units: tuple[DoseUnit, ...]
    declared: Levels[object]
    takes: Callable[[object], bool]

    @property
    def name(self) -> str:
        """Its name in ``over``: ``open.rate``, ``freeze.when.for``."""
        return _short(".".join(self.path))

    @property
    def factor(self) -> str:
        """Its name as a factor."""
        return factor_name(self.path)

    def level(self, dose: float, unit: DoseUnit) -> object:
        """Return a dose as a level of the field."""
        if self.path == RATE and unit is DoseUnit.PERCENT:
            return ShareOfCapacity.parse(f"{dose:.10g} %")
        if unit is DoseUnit.TIME:
            return Duration(round(dose * _US))
        return int(dose) if dose.is_integer() else dose


def _short(path: str) -> str:
    """Return a path without the part of the study that it is in."""
    return path.removeprefix("workload.").removeprefix("faults.")


def dose_field(study: Study, boundary: Boundary) -> DoseField:
    """Return the field that a search is over. Raises InputError where there is none, or where it can't hold doses."""
    fields = {one.name: one for one in _fields(study)}
    name = _short(boundary.over)
    if name not in fields:
        allowed = ", ".join(fields) or "`open.rate` of an open workload, or `KIND.when.for` of a fault with a window"
        message, hint = "names no field of this study that can hold doses", did_you_mean(name, fields)
        raise InputError(Problem(message, OVER, value=boundary.over, allowed=allowed, hint=hint))
    problems = list(_problems(fields[name], boundary))
    if problems:
        raise InputError(problems)
    return fields[name]


def _problems(found: DoseField, boundary: Boundary) -> Iterator[Problem]:
    if found.declared.varied:
        hint = "give it the one level that you have today"
        yield Problem(f"`{found.name}` has a list of levels, and the search places its own", OVER, hint=hint)
    if boundary.unit not in found.units:
        allowed = " or ".join(_WRITTEN[unit] for unit in found.units)
        first = str(boundary.between[0])
        yield Problem(f"has another unit than `{found.name}`", BETWEEN, value=first, allowed=allowed)
    elif not found.takes(found.level(boundary.high, boundary.unit)):
        last = str(boundary.between[1])
        yield Problem(f"goes beyond what `{found.name}` may be", BETWEEN, value=last, hint="end the range earlier")


def _fields(study: Study) -> Iterator[DoseField]:
    """Yield the fields of a study that can hold doses."""
    opened = study.workload.open
    if opened and opened.rate:
        yield DoseField(RATE, (DoseUnit.NUMBER, DoseUnit.PERCENT), opened.rate, _is_rate)
    for name, fault in by_name(study.faults).items():
        if len(fault.when) == 1 and fault.when[0].for_ is not None and not fault.chosen.over_by_itself:
            yield DoseField(("faults", name, *WINDOW), (DoseUnit.TIME,), fault.when[0].for_, _is_short)
        yield from _settings(name, fault)


def _is_rate(level: object) -> bool:
    return isinstance(level, ShareOfCapacity) or dose_of(level) <= FASTEST


def _is_short(level: object) -> bool:
    return isinstance(level, Duration) and level.us <= LONGEST_US


def _settings(name: str, fault: Fault) -> Iterator[DoseField]:
    """Yield the settings of a fault that are times or percentages."""
    chosen: Kind = fault.chosen
    for key in type(chosen).model_fields:
        levels, takes = getattr(chosen, key), partial(_takes, chosen, key)
        if not isinstance(levels, Levels):
            continue
        if all(isinstance(level, Duration) for level in levels):
            yield DoseField(("faults", name, written(key)), (DoseUnit.TIME,), levels, takes)
        elif key == PERCENTAGE:
            yield DoseField(("faults", name, key), (DoseUnit.PERCENT, DoseUnit.NUMBER), levels, takes)


def _takes(settings: Kind, key: str, level: object) -> bool:
    """Whether a kind of fault has this level of a setting."""
    others = {name: getattr(settings, name) for name in type(settings).model_fields}
    try:
        type(settings).model_validate({**others, key: level})
    except ValidationError:
        return False
    return True


def searched(study: Study) -> Study:
    """Return a study whose field of the dose has the grid of its search as levels; unchanged without a search."""
    if study.boundary is None:
        return study
    found = dose_field(study, study.boundary)
    levels = Levels.of([found.level(dose, study.boundary.unit) for dose in study.boundary.doses], varied=True)
    return _with(study, found.path, levels)


def _with(study: Study, path: Path, levels: Levels[object]) -> Study:
    """Return a study with other levels at the path of a dose."""
    if path == RATE:
        assert study.workload.open is not None
        opened = study.workload.open.model_copy(update={"rate": levels})
        return study.model_copy(update={"workload": study.workload.model_copy(update={"open": opened})})
    place = list(by_name(study.faults)).index(path[1])
    faults = list(study.faults)
    faults[place] = _fault_with(faults[place], path[2:], levels)
    return study.model_copy(update={"faults": faults})


def _fault_with(fault: Fault, path: Path, levels: Levels[object]) -> Fault:
    if path == WINDOW:
        return fault.model_copy(update={"when": [fault.when[0].model_copy(update={"for_": levels})]})
    key = next(name for name in type(fault.chosen).model_fields if written(name) == path[0])
    return fault.model_copy(update={fault.kind: fault.chosen.model_copy(update={key: levels})})


class LeveledScenario(Protocol):
    """A scenario of a plan, or as a run's file holds it."""

    @property
    def id(self) -> str:
        """Its id."""

    @property
    def levels(self) -> dict[str, Level]:
        """The level of each factor that applies."""


@dataclass(frozen=True)
class SearchedConfiguration:
    """The scenarios that differ in their dose alone: their ids by dose, in rising order, and the levels of the rest."""

    key: str
    levels: Mapping[str, Level]
    scenarios: Mapping[float, str] = field(default_factory=dict)


def configurations(scenarios: Iterable[LeveledScenario], factor: str) -> list[SearchedConfiguration]:
    """Return the configurations of a search in the plan's order; ``factor`` is that of the dose."""
    found: dict[str, tuple[dict[str, Level], dict[float, str]]] = {}
    for one in scenarios:
        rest = {name: level for name, level in one.levels.items() if name != factor}
        _, by_dose = found.setdefault(content_id(rest), (rest, {}))
        by_dose[dose_of(one.levels[factor])] = one.id
    return [SearchedConfiguration(key, rest, dict(sorted(of.items()))) for key, (rest, of) in found.items()]


def dose_of(level: object) -> float:
    """Return the dose of a level: seconds of a time, percent of a share, or the number."""
    if isinstance(level, Duration):
        return level.seconds
    if isinstance(level, (str, int, float)):
        return Dose.parse(level).value
    raise TypeError(f"{level!r} isn't a dose")


def today(study: Study, boundary: Boundary, capacity: float | None = None) -> float | None:
    """Return the dose that the study itself has, which is where its reader is today.

    A rate is a share of the ``capacity``, and the other way round; None where that is not known.
    """
    level = dose_field(study, boundary).declared[0]
    share = isinstance(level, ShareOfCapacity)
    if dose_field(study, boundary).path != RATE or share == (boundary.unit is DoseUnit.PERCENT):
        return dose_of(level)
    if not capacity:
        return None
    return dose_of(level) * capacity / 100 if share else dose_of(level) / capacity * 100
