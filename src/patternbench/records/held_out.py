"""How far predictions were off where they were held against rounds that they did not rest on: the file and its rules.

A model of a system carries it (``held_out`` of ``model.yaml``), and a run in simulated time has a copy of it
(``held-out.json``), which its report shows and ``recommend`` asks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated

from pydantic import Field, ValidationError

from patternbench.records import sealed_files, stored
from patternbench.records.folder import RunFolder
from patternbench.study.load import dotted
from patternbench.study.model.parts import Model
from patternbench.study.model.tree import plain
from patternbench.terms.nearness import Nearness
from patternbench.terms.problems import InputError, Problem
from patternbench.terms.units import Duration

Word = Annotated[Nearness, Field(strict=False)]
"""How near predictions are to what was measured, which a file writes as a text."""
_HINT = "simulate the study again"
Number = Annotated[float, Field(allow_inf_nan=False)]
Value = str | int | float | bool | None


class PredictedResponse(Model):
    """A response in one scenario: the means of the measured and of the simulated rounds, and the error.

    ``error`` and the ends of its interval are in percent of the measured value (``relative``), else in the unit of the
    response; null where there are too few rounds to know.
    """

    response: str
    relative: bool
    verdict: Word
    measured: Number | None = None
    predicted: Number | None = None
    error: Number | None = None
    low: Number | None = None
    high: Number | None = None


class PredictedScenario(Model):
    """A scenario that the model did not rest on, with each response that was checked in it."""

    scenario: str
    levels: dict[str, Value]
    rounds: Annotated[int, Field(ge=0)]
    responses: list[PredictedResponse]


class CoveredScenarios(Model):
    """What was checked of one pattern under one set of faults: the ranges of numbers, and the texts, by their paths.

    Durations are in seconds.
    """

    strategy: str
    faults: list[str]
    ranges: dict[str, Annotated[list[Number], Field(min_length=2, max_length=2)]]
    texts: dict[str, list[Value]]

    def reason_outside(self, numbers: Mapping[str, float], texts: Mapping[str, Value]) -> str:
        """Return what of a scenario lies outside, in words; empty where nothing does."""
        for path, value in numbers.items():
            if path not in self.ranges:
                return f"{path} was not there"
            low, high = self.ranges[path]
            if not low <= value <= high:
                return f"{path} is {value:g}, and {low:g} to {high:g} was checked"
        for path, text in texts.items():
            if text not in self.texts.get(path, []):
                return f"{path} is {text}, which was not checked"
        return ""


class HeldOut(Model):
    """The check of a model against rounds that it did not rest on: by which rule they were chosen, and what came of it.

    ``rounds`` is how many rounds of each scenario were simulated. ``verdicts`` are those of each response over all
    scenarios, which hold together with 95 %. ``model_sha256`` is the hash of the model and of this check, without which
    either could have been changed since.
    """

    rule: str
    rounds: Annotated[int, Field(ge=1)]
    verdicts: dict[str, Word]
    scenarios: list[PredictedScenario]
    covers: list[CoveredScenarios]
    model_sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")] | None = None

    def as_json(self) -> dict[str, object]:
        """Return it as plain data."""
        return plain(self)

    def unusable(self, responses: list[str]) -> Iterator[str]:
        """Yield why responses can't decide anything, in sentences without an end."""
        for name in responses:
            verdict = self.verdicts.get(name)
            if verdict is None:
                yield f"{name} was never held against measured rounds"
            elif verdict is Nearness.NOT_USABLE:
                yield f"predictions of {name} were {verdict} on rounds that the model did not rest on"

    def outside(self, configuration: Mapping[str, object]) -> str:
        """Return why a scenario lies outside what was checked, in words; empty where it doesn't."""
        strategy, faults = kinds_of(configuration)
        alike = [one for one in self.covers if (one.strategy, one.faults) == (strategy, faults)]
        if not alike:
            under = f" under {', '.join(faults)}" if faults else ""
            return f"no rounds with {strategy}{under} were checked"
        numbers, texts = leaves_of(configuration)
        reasons = [one.reason_outside(numbers, texts) for one in alike]
        return "" if not all(reasons) else reasons[0]


def covering(configurations: list[Mapping[str, object]]) -> list[CoveredScenarios]:
    """Return what the configurations of checked scenarios cover, by their patterns and faults."""
    groups: dict[tuple[str, tuple[str, ...]], list[Mapping[str, object]]] = {}
    for one in configurations:
        strategy, faults = kinds_of(one)
        groups.setdefault((strategy, tuple(faults)), []).append(one)
    return [_covered(strategy, [*faults], of_it) for (strategy, faults), of_it in groups.items()]


def _covered(strategy: str, faults: list[str], configurations: list[Mapping[str, object]]) -> CoveredScenarios:
    ranges: dict[str, list[float]] = {}
    texts: dict[str, list[Value]] = {}
    for numbers, of_texts in map(leaves_of, configurations):
        for path, number in numbers.items():
            low, high = ranges.get(path, [number, number])
            ranges[path] = [min(low, number), max(high, number)]
        for path, text in of_texts.items():
            known = texts.setdefault(path, [])
            if text not in known:
                known.append(text)
    return CoveredScenarios(strategy=strategy, faults=faults, ranges=ranges, texts=texts)


def kinds_of(configuration: Mapping[str, object]) -> tuple[str, list[str]]:
    """Return the pattern of a scenario by its policies, and the kinds of its faults that are more than nothing."""
    strategy, faults = configuration.get("strategy"), configuration.get("faults")
    kinds = [_pattern(name, value) for name, value in _items(strategy) if name != "name"]
    acting = sorted(name for name, value in _items(faults) if not _is_idle(value))
    return " ".join(kinds), acting


def _pattern(name: str, value: object) -> str:
    entries = value if isinstance(value, list) else []
    return "+".join(key for entry in entries for key, _ in _items(entry)) or name


def _is_idle(fault: object) -> bool:
    """Whether a fault has the level without the fault: a share of 0 %, or a window of no length."""
    values = dict(_items(fault))
    windows = values.get("when")
    lengths = [dict(_items(one)).get("for") for one in (windows if isinstance(windows, list) else [windows])]
    return values.get("percentage") == 0 or (bool(windows) and all(one == "0ms" for one in lengths))


def _items(node: object) -> list[tuple[str, object]]:
    return [(str(name), value) for name, value in node.items()] if isinstance(node, Mapping) else []


def leaves_of(configuration: Mapping[str, object]) -> tuple[dict[str, float], dict[str, Value]]:
    """Return the values of a scenario by their paths: numbers, with durations in seconds, and all others.

    Faults that do nothing are left out.
    """
    acting = {name: value for name, value in _items(configuration.get("faults")) if not _is_idle(value)}
    numbers: dict[str, float] = {}
    texts: dict[str, Value] = {}
    for path, value in _leaves({**configuration, "faults": acting}, ()):
        number = _number(value)
        if number is None:
            texts[dotted(path)] = value if isinstance(value, str | bool) else None
        else:
            numbers[dotted(path)] = number
    return numbers, texts


def _leaves(node: object, path: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], object]]:
    if isinstance(node, Mapping):
        for name, value in node.items():
            yield from _leaves(value, (*path, str(name)))
    elif isinstance(node, list):
        for number, value in enumerate(node):
            yield from _leaves(value, (*path, number))
    else:
        yield path, node


def _number(value: object) -> float | None:
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return float(value)
    try:
        return Duration.parse(str(value)).seconds
    except ValueError:
        return None


def write(run: RunFolder, held_out: HeldOut) -> None:
    """Write the check of a model next to the rounds that were simulated with it."""
    sealed_files.write(run.held_out, held_out.as_json(), _model_of(run))


def read(run: RunFolder) -> HeldOut | None:
    """Return the check of the model that a run was simulated with; None where there was none. Raises InputError."""
    if not run.held_out.is_file():
        return None
    try:
        return HeldOut.model_validate(sealed_files.read(run.held_out, _model_of(run), _HINT))
    except ValidationError as error:
        where = dotted(next(one.get("loc", ()) for one in error.errors()))
        raise InputError(Problem("is damaged", where, str(run.held_out), hint=_HINT)) from None


def _model_of(run: RunFolder) -> str:
    """Return the hash of the model that a run was simulated with."""
    noted = stored.manifest(run).simulated if run.manifest.is_file() else None
    return noted.sha256 if noted else ""
