"""Placeholders such as ``${name}`` in texts of a study, and the names that they may have in each text."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TypeVar, overload

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from patternbench.study.model.levels import Levels
from patternbench.study.model.parts import written
from patternbench.study.workload.journeys import Expect, Feeder, Journey, Poll, Request, Step
from patternbench.study.workload.workloads import FILLED_IN, Group, Population, Workload
from patternbench.terms.problems import InputError, Problem, did_you_mean

Part = TypeVar("Part")
PLACE = re.compile(r"(?<!\$)\$\{([^}]*)\}")
TYPED = re.compile(r"\$\{([^}|]*)\|(?:number|json)\}")
MADE = re.compile(r"counter:.*|(?:random|cycle):([0-9]{1,19})-([0-9]{1,19})")
"""Names of values that the load engine makes."""
VARIABLE = re.compile(r"env:[A-Za-z_][A-Za-z0-9_]*")
"""Names of variables of the environment, which every text of a request or an expectation may have."""
UNREAD = "COLUMN"
"""Stands for the columns of a feeder that can't be read, which is reported as its own problem."""
ITEM = "item"
"""The placeholder of the current one of several values."""
EXPECTATIONS = "the expectations of a round"
LITERAL = "$${"
"""The escape of the characters ``${`` themselves."""


def expectation_problems(workload: Workload, settings: Iterable[str] = ()) -> Iterator[Problem]:
    """Every placeholder in an expectation without a parameter's name. Expectations hold for all calls of a round.

    ``settings`` are the names of placeholders for settings of the system.
    """
    available = [*(workload.parameters or {}), *settings]
    for path, expect in parts_of(workload, "workload", Expect):
        for field, text in _texts(expect, path):
            yield from _unknown(text, field, available, EXPECTATIONS)


def request_problems(workload: Workload, client: str, settings: Iterable[str] = ()) -> Iterator[Problem]:
    """Every placeholder without a parameter's name in a request that a library's client sends unchanged."""
    available = [*(workload.parameters or {}), *settings]
    for path, request in parts_of(workload, "workload", Request):
        for field, text in _texts(request, path):
            for problem in _unknown(text, field, available, f"the requests of client {client}"):
                yield _for_a_journey(problem, text)


def _for_a_journey(problem: Problem, text: str) -> Problem:
    """Return a problem that says what to write where a place is one that only the load engine fills in."""
    if problem.hint or not any(MADE.fullmatch(name) or name in FILLED_IN for name in PLACE.findall(text)):
        return problem
    hint = "write a `journey` of this one request: the load engine drives it, and fills this in for every call"
    return replace(problem, hint=hint)


def template_problems(
    workload: Workload,
    headers: Mapping[str, str],
    columns: Mapping[str, Collection[str]],
    settings: Collection[str] = (),
) -> Iterator[Problem]:
    """Every placeholder in the load engine's requests that isn't known at its step.

    ``headers`` are the system's; ``columns`` are those of each feeder's file, as far as it can be read; ``settings``
    are the names of placeholders for settings of the system.
    """
    everywhere = [*(workload.parameters or {}), *(workload.lists or {}), *settings, *FILLED_IN]
    if workload.set_up:
        yield from _of_journey(workload.set_up, "workload.set_up", everywhere)
    everywhere += workload.set_up_names
    for path, group, sends in _populations(workload):
        feeder = (group and group.feeder) or workload.feeder
        available = [*everywhere, *_of_feeder(feeder, columns)]
        yield from _of_headers(headers, "system.headers", available)
        yield from _of_headers((group and group.headers) or {}, f"{path}.headers", available)
        yield from _of_population(sends, path if sends is group else "workload", available)


@overload
def filled(node: Mapping[str, object], values: Mapping[str, str]) -> dict[str, object]: ...
@overload
def filled(node: list[str], values: Mapping[str, str]) -> list[object]: ...
@overload
def filled(node: object, values: Mapping[str, str]) -> object: ...
def filled(node: object, values: Mapping[str, str]) -> object:
    """Return an expectation's value with its places filled in; a text that is ``${name|number}`` becomes that number.

    Raises InputError for a place without a value, and for a value that isn't what its place asks for.
    """
    if isinstance(node, Mapping):
        return {filled(name, values): filled(value, values) for name, value in node.items()}
    if isinstance(node, list):
        return [filled(value, values) for value in node]
    if not isinstance(node, str):
        return node
    typed = TYPED.fullmatch(node)
    if typed:
        return _parsed(_value(typed[1], values), node)
    return PLACE.sub(lambda match: _value(match[1], values), node).replace(LITERAL, "${")


def _value(name: str, values: Mapping[str, str]) -> str:
    """Return the value of a place; the problem of one without any has no path, which the caller knows."""
    if name not in values:
        allowed, hint = f"one of {', '.join(values) or 'none'}, or env:NAME", did_you_mean(name, values)
        raise InputError(Problem(f"`${{{name}}}` isn't known in {EXPECTATIONS}", allowed=allowed, hint=hint))
    return values[name]


def _parsed(text: str, place: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        allowed = "a number or other JSON at every level; without `|number` or `|json` it is compared as text"
        value = None if "${env:" in place else text  # a variable may be a secret
        raise InputError(Problem(f"`{place}` isn't a JSON value", value=value, allowed=allowed)) from None


def _unknown(text: str, path: str, available: Collection[str], what: str) -> Iterator[Problem]:
    typed = TYPED.fullmatch(text)
    for name in [typed[1]] if typed else PLACE.findall(text):
        if name not in available and not VARIABLE.fullmatch(name):
            listed = ", ".join(available) or "there are none"
            allowed = f"a parameter of the workload ({listed}), env:NAME, or {LITERAL} for ${{ itself"
            message = f"`${{{name}}}` isn't known in {what}"
            yield Problem(message, path, value=text, allowed=allowed, hint=did_you_mean(name.strip(), available))


def _populations(workload: Workload) -> Iterator[tuple[str, Group | None, Population]]:
    """Each group with its place and with what says what it sends; a workload without groups is by itself."""
    if not workload.groups:
        yield "workload", None, workload
    for number, group in enumerate(workload.groups or []):
        yield f"workload.groups[{number}]", group, group if group.sends else workload


def _of_feeder(feeder: Feeder | None, columns: Mapping[str, Collection[str]]) -> list[str]:
    return [f"feed.{column}" for column in columns.get(str(feeder.file), [UNREAD])] if feeder else []


def _of_population(sends: Population, path: str, available: list[str]) -> Iterator[Problem]:
    if sends.request:
        yield from _of_request(sends.request, f"{path}.request", available)
    if sends.journey:
        yield from _of_journey(sends.journey, f"{path}.journey", available)
    for number, journey in enumerate(sends.journeys or []):
        yield from _of_journey(journey, f"{path}.journeys[{number}]", available)


def _of_journey(journey: Journey, path: str, available: list[str]) -> Iterator[Problem]:
    """Yield references beyond what earlier steps capture; a poll may also use its own captures."""
    so_far = list(available)
    for number, step in enumerate(journey.steps):
        step_path = f"{path}.steps[{number}]"
        yield from _of_request(step, step_path, [*so_far, ITEM] if step.for_each else so_far)
        so_far += step.capture or ()
        if step.poll:
            yield from _of_request(step.poll, f"{step_path}.poll", so_far)


def _of_request(request: Request | Step | Poll, path: str, available: list[str]) -> Iterator[Problem]:
    for name in ("path", "body"):
        for field, text in _texts(getattr(request, name, None), f"{path}.{name}"):
            yield from _unsendable(PLACE.findall(text), text, field, available)
    for name in ("query", "form"):
        for key, value in (getattr(request, name, None) or {}).items():
            for field, text in _texts(value, f"{path}.{name}.{key}"):
                yield from _unsendable(PLACE.findall(text), text, field, available)
    yield from _of_headers(request.headers or {}, f"{path}.headers", available)
    for field, text in _texts(getattr(request, "json_", None), f"{path}.json"):
        typed = TYPED.fullmatch(text)
        yield from _unsendable([typed[1].strip()] if typed else PLACE.findall(text), text, field, available)


def _of_headers(headers: Mapping[str, str], path: str, available: list[str]) -> Iterator[Problem]:
    for name, text in headers.items():
        yield from _unsendable(PLACE.findall(text), text, f"{path}.{name}", available)


def _unsendable(names: Iterable[str], text: str, path: str, available: list[str]) -> Iterator[Problem]:
    for name in names:
        if not _is_known(name, available):
            made = "random:1-100, cycle:1-100, counter:NAME, env:NAME"
            allowed = f"{', '.join(available)}, {made}, or {LITERAL} for ${{ itself"
            message = f"`${{{name}}}` isn't known here"
            yield Problem(message, path, value=text, allowed=allowed, hint=did_you_mean(name, available))


def _is_known(name: str, available: Collection[str]) -> bool:
    if VARIABLE.fullmatch(name):
        return True
    made = MADE.fullmatch(name)
    unread = name.startswith("feed.") and f"feed.{UNREAD}" in available
    return name in available or unread or (made is not None and (made[1] is None or int(made[1]) <= int(made[2])))


def parts_of(node: object, path: str, kind: type[Part]) -> Iterator[tuple[str, Part]]:
    """Every part of a kind below a node, with its place in the study."""
    if isinstance(node, kind):
        yield path, node
    if isinstance(node, (BaseModel, Mapping, list, tuple)):
        for name, part in _parts(node):
            yield from parts_of(part, path + name, kind)


def _texts(node: object, path: str) -> Iterator[tuple[str, str]]:
    """Every text below a node, keys of mappings included."""
    if isinstance(node, str):
        yield path, node
    for name, part in _parts(node):
        yield from _texts(part, path + name)


def _parts(node: object) -> Iterator[tuple[str, object]]:
    """Yield the parts of a node, each with its addition to the path."""
    if isinstance(node, BaseModel):
        yield from ((f".{field.alias or written(name)}", getattr(node, name)) for name, field in _fields(node))
    elif isinstance(node, Mapping):
        yield from ((f".{key}", part) for key, value in node.items() for part in (key, value))
    elif isinstance(node, (list, tuple)):
        alone = isinstance(node, Levels) and not node.varied
        yield from (("" if alone else f"[{number}]", part) for number, part in enumerate(node))


def _fields(node: BaseModel) -> Iterable[tuple[str, FieldInfo]]:
    return type(node).model_fields.items()
