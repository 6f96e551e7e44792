"""The parts of a workload that depend on levels: of the system's settings, and of the workload's own parameters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from patternbench.study.model.parts import Setting
from patternbench.study.model.system import System
from patternbench.study.text.places import parts_of
from patternbench.study.workload.journeys import Conditional, DurationReference, Journey, Reference, When
from patternbench.study.workload.workloads import Workload
from patternbench.terms.problems import Problem, did_you_mean
from patternbench.terms.units import Duration

SETTING = "setting."
"""The prefix of placeholders for a setting of the system: ``${setting.bundle}``."""
PARAMETER = "parameters."
"""The prefix of conditions on a parameter."""


def texts(system: System, workload: Workload) -> dict[str, str]:
    """Return the values of placeholders in a scenario: its parameters, and its settings as ``setting.NAME``."""
    parameters = {name: as_text(value.level) for name, value in (workload.parameters or {}).items()}
    return parameters | {SETTING + name: as_text(level) for name, level in system.setting_levels.items()}


def as_text(value: object) -> str:
    """Return a level as it is written into a request."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def on_settings(workload: Workload) -> bool:
    """Whether anything in a workload depends on a setting of the system."""
    conditions = (name for _, part in parts_of(workload, "", Conditional) for name in part.when or ())
    about_settings = any(not name.startswith(PARAMETER) for name in conditions)
    return about_settings or any(f"${{{SETTING}" in text for _, text in parts_of(workload, "", str))


def whole(value: object, values: Mapping[str, str]) -> object:
    """Return the number that a value is or refers to. Any other value is returned unchanged, for its own checks."""
    text = values.get(value.name, value) if isinstance(value, Reference) else value
    return int(text) if isinstance(text, str) and text.isdecimal() else text


def duration(value: Duration | Reference | None, values: Mapping[str, str]) -> Duration | None:
    """Return the duration that a value is or refers to; None without one, and for a place that has none."""
    if not isinstance(value, Reference):
        return value
    try:
        return Duration.parse(values.get(value.name, ""))
    except ValueError:
        return None


def applies(when: When | None, values: Mapping[str, str]) -> bool:
    """Whether a step or a journey is part of a scenario with these ``values`` of placeholders.

    A condition on an unknown name leaves nothing out; it is reported as its own problem.
    """
    reported = ((values.get(_place(name)), expected) for name, expected in (when or {}).items())
    return all(value is None or value in _levels(expected) for value, expected in reported)


def remaining(journeys: Sequence[Journey], values: Mapping[str, str]) -> Iterator[tuple[int, Journey]]:
    """Yield the journeys that are part of a scenario, with their places among all: those with a step that is one."""
    for number, journey in enumerate(journeys):
        if applies(journey.when, values) and any(applies(step.when, values) for step in journey.steps):
            yield number, journey


def problems(system: System, workload: Workload) -> Iterator[Problem]:
    """Parts that depend on a level that a scenario lacks, or that isn't a number or duration where one is needed."""
    values = texts(system, workload)
    left_out = tuple(_left_out(workload, values))
    for path, reference in parts_of(workload, "workload", Reference):
        if not path.startswith(left_out) and not _is_given(reference, values):
            yield _not_given(path, reference, values)
    for path, part in parts_of(workload, "workload", Conditional):
        unknown = (name for name in part.when or () if _place(name) not in values)
        yield from (_unknown(f"{path}.when.{name}", name, values) for name in unknown)
    yield from _nothing_left(workload, values)


def _nothing_left(workload: Workload, values: Mapping[str, str]) -> Iterator[Problem]:
    """Yield populations that have no journey in a scenario."""
    levels = " where " + ", ".join(f"{name}={value}" for name, value in values.items()) if values else ""
    for number, sends in enumerate([workload, *(workload.groups or [])]):
        listed = sends.journeys or ([sends.journey] if sends.journey else [])
        left = [journey for _, journey in remaining(listed, values) if max(journey.weight) > 0]
        if listed and not left:
            path = f"workload.groups[{number - 1}]" if number else "workload"
            allowed = "a journey with at least one step for every combination of levels"
            yield Problem(f"no step is left{levels}", f"{path}.{_named(sends.journey)}", allowed=allowed)


def never(workloads: Sequence[tuple[System, Workload]], declared: Workload) -> Iterator[Problem]:
    """Conditions that aren't true in any scenario, so that their step or journey never runs."""
    every = [texts(system, workload) for system, workload in workloads]
    for path, part in parts_of(declared, "workload", Conditional):
        understood = all(_place(name) in every[0] for name in part.when or ())
        if understood and not any(applies(part.when, values) for values in every):
            levels = {name: sorted({values[_place(name)] for values in every}) for name in part.when or ()}
            allowed = "; ".join(f"{name}: {', '.join(texts)}" for name, texts in levels.items())
            yield Problem("isn't true in any scenario", f"{path}.when", allowed=allowed)


def _left_out(workload: Workload, values: Mapping[str, str]) -> Iterator[str]:
    """Yield how the places of parts begin that belong to a step or a journey that is not taken in a scenario."""
    for path, part in parts_of(workload, "workload", Conditional):
        if not applies(part.when, values):
            yield f"{path}."


def _is_given(reference: Reference, values: Mapping[str, str]) -> bool:
    if isinstance(reference, DurationReference):
        return duration(reference, values) is not None
    return isinstance(whole(reference, values), int)


def _not_given(path: str, reference: Reference, values: Mapping[str, str]) -> Problem:
    what = "a duration" if isinstance(reference, DurationReference) else "a whole number"
    fitting = [name for name in values if _is_given(type(reference)(f"${{{name}}}"), values)]
    allowed = f"{what}, or the place of one ({', '.join(fitting) or 'there are none'})"
    message = f"`{reference}` is not {what} in every scenario"
    hint = did_you_mean(reference.name, fitting)
    return Problem(message, path, value=str(reference), allowed=allowed, hint=hint)


def _unknown(path: str, name: str, values: Mapping[str, str]) -> Problem:
    names = [text.removeprefix(SETTING) if text.startswith(SETTING) else PARAMETER + text for text in values]
    message = f"`{name}` is neither a setting nor a parameter of the study"
    listed = ", ".join(names) or "there are none"
    allowed = f"a setting that `system.settings` gives levels, or parameters.NAME ({listed})"
    return Problem(message, path, allowed=allowed, hint=did_you_mean(name, names))


def _place(name: str) -> str:
    """Return the placeholder of a condition's name."""
    return name.removeprefix(PARAMETER) if name.startswith(PARAMETER) else SETTING + name


def _levels(expected: Setting | list[Setting]) -> list[str]:
    return [as_text(level) for level in (expected if isinstance(expected, list) else [expected])]


def _named(journey: Journey | None) -> str:
    return "journey.steps" if journey else "journeys"
