"""The file that describes a system for simulated time (``model.yaml``, version 1), and how one is read and written."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Annotated, Literal, cast

from pydantic import Field, GetCoreSchemaHandler
from pydantic_core import PydanticCustomError, core_schema
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq

from patternbench.records.held_out import HeldOut
from patternbench.records.later_traces import LaterTraces
from patternbench.records.outputs import write_whole
from patternbench.study.load import located, validated
from patternbench.study.model.parts import Model, Name, OneOf, Setting, Sparse
from patternbench.study.model.tree import plain
from patternbench.study.schema import schema_of
from patternbench.study.text.document import parse
from patternbench.study.text.files import read_text
from patternbench.study.workload.policies import Policy, check_stack
from patternbench.terms.problems import InputError, Problem, did_you_mean
from patternbench.terms.sealed import content_hash
from patternbench.terms.units import Duration, Number, Percentage, PositiveDuration

VERSION: Literal[1] = 1
LARGEST = 10_000_000
"""Bytes of a model that is read: a thousand services have about one."""
MOST_REPLICAS, MOST_WRITTEN = 1_000_000, 1_000_000
"""How many replicas all services have together at most, and how many calls are written in a model."""
MOST_CALLS = 10_000_000
"""How many calls one request may come to, on average and with all attempts: more would take hours for a second."""
_REFERENCE = re.compile(r"\$\{([A-Za-z0-9][A-Za-z0-9._-]*)\}")


class SettingOf(str):
    """A number that a setting of the system gives, written ``${NAME}``."""

    __slots__ = ()

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: object, _handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        text = core_schema.str_schema(pattern=rf"^{_REFERENCE.pattern}$", strict=True)
        return core_schema.no_info_after_validator_function(cls, text)

    @property
    def name(self) -> str:
        """The setting."""
        return self[2:-1]


Workers = Annotated[int, Field(ge=1, le=1_000_000)]
Waiting = Annotated[int, Field(ge=0, le=1_000_000_000)]
Factor = Annotated[Number, Field(gt=0, le=1_000_000)]


class QuantileOfTime(Model):
    """A share of the requests, and the time that this share takes at most."""

    share: Annotated[Number, Field(ge=0, le=1)]
    time: Duration


class ServiceTimes(OneOf):
    """How long a service works on a request that it has for itself: in one of these ways."""

    fixed: Duration | None = None
    exponential: Duration | None = None
    quantiles: Annotated[list[QuantileOfTime], Field(min_length=2, max_length=10_000)] | None = None


class SlowdownAt(Model):
    """How many times as long a service works on a request while it works on this many at once."""

    at: Annotated[Number, Field(ge=0, le=1_000_000)]
    factor: Factor


class WaitingLine(Model):
    """Where requests wait for a worker: how many may, in which order, and how long."""

    limit: Waiting | SettingOf | None = None
    order: Literal["fifo", "lifo"] = "fifo"
    deadline: Duration | None = None
    full_status: Annotated[int, Field(ge=200, le=599)] = 503


class DoorLimit(Model):
    """A limit at the door of a service (a token bucket); what is above it is answered at once."""

    rate: Annotated[Number, Field(ge=0.001, le=1_000_000)]
    burst: Annotated[int, Field(ge=1, le=1_000_000)] = 1
    status: Annotated[int, Field(ge=200, le=599)] = 429


class DownstreamCall(Sparse):
    """A call of a service to another one, through policies of its own (those of a study's stacks)."""

    to: Name
    share: Percentage = 100
    times: Annotated[int, Field(ge=1, le=10_000)] = 1
    timeout: PositiveDuration | None = None
    policies: Annotated[list[Policy], Field(min_length=1, max_length=100)] | None = None
    on_failure: Literal["fail", "ignore"] = "fail"


class ParallelCalls(Model):
    """Calls that are made at the same time; the request goes on when all are over."""

    together: Annotated[list[DownstreamCall], Field(min_length=1, max_length=1000)]


class ServiceOperation(Sparse):
    """What a service does for the requests of one step: its time, and the calls that it makes then."""

    times: ServiceTimes
    calls: Annotated[list[ParallelCalls], Field(max_length=1000)] | None = None


class ServiceAt(Sparse):
    """A service: workers that take requests from one line, and the calls that it makes when its own work is done.

    A worker waits for the calls of its request, unless ``waits`` is false. Of several ``replicas`` each has its own
    workers and line, and ``balance`` deals requests out.
    """

    workers: Workers | SettingOf
    times: ServiceTimes
    operations: dict[Annotated[str, Field(min_length=1, max_length=200)], ServiceOperation] | None = None
    slowdown: Annotated[list[SlowdownAt], Field(max_length=10_000)] | None = None
    line: WaitingLine | None = None
    limit: DoorLimit | None = None
    replicas: Annotated[int, Field(ge=1, le=10_000)] | None = None
    balance: Literal["round_robin", "random", "least_busy"] | None = None
    calls: Annotated[list[ParallelCalls], Field(max_length=1000)] | None = None
    waits: bool | None = None


class Provenance(Sparse):
    """Where a calibrated model comes from, and what the records did not show."""

    run: str
    study: str
    patternbench: str = ""
    commit: str | None = None
    machine: dict[str, object] = Field(default_factory=dict)
    used: list[str] = Field(default_factory=list)
    rounds: Annotated[int, Field(ge=0)] = 0
    error: Annotated[Number, Field(ge=0)] | None = None
    not_identified: list[str] = Field(default_factory=list)


class SimulationModel(Sparse):
    """A whole model file: services behind a network, and how far its predictions were off where they were checked.

    ``settings`` are those of the system at which it holds. Load comes in at ``entry``.
    """

    patternbench_model: Annotated[Literal[1], Field(alias="patternbench-model")]
    name: Name
    about: str | None = None
    system: Name | None = None
    settings: dict[str, Setting] = Field(default_factory=dict)
    network: Duration = Duration(0)
    connection: Duration = Duration(0)
    entry: Name
    services: Annotated[dict[Name, ServiceAt], Field(min_length=1, max_length=100_000)]
    calibrated: Provenance | None = None
    held_out: HeldOut | None = None
    later: LaterTraces | None = None


def model_schema() -> dict[str, object]:
    """Return the schema of version 1 of a model file (JSON Schema, draft 2020-12)."""
    return schema_of(SimulationModel)


@dataclass(frozen=True)
class ModelFile:
    """A model as it was read: its text with its hash, where it lies, and what it says."""

    file: str
    text: str
    model: SimulationModel

    @property
    def sha256(self) -> str:
        """The hash of the text, in hex digits."""
        return hashlib.sha256(self.text.encode()).hexdigest()


def read(path: str | Path) -> ModelFile:
    """Read a model file. Raises InputError listing every problem of it with its line."""
    text = read_text(path, LARGEST)
    document = parse(text, str(path))
    model = cast(SimulationModel, validated(SimulationModel, document))
    wrong = [located(problem, document) for problem in problems(model)]
    if wrong:
        raise InputError(wrong)
    return ModelFile(str(path), text, model)


def write(model: SimulationModel, path: Path) -> None:
    """Write a model file whole, as a person would read it, its checks with their hashes. Raises InputError."""
    write_whole(path, as_text(_with_hashes(model)).encode())


def _with_hashes(model: SimulationModel) -> SimulationModel:
    """Return a model whose checks have the hash of both, as a reader of its text will find them."""
    read = cast(SimulationModel, validated(SimulationModel, parse(as_text(model), "")))
    held_out = model.held_out and model.held_out.model_copy(update={"model_sha256": hash_of_both(read)})
    later = model.later and model.later.model_copy(update={"model_sha256": hash_with_later(read)})
    return model.model_copy(update={"held_out": held_out, "later": later})


def hash_of_both(model: SimulationModel) -> str:
    """Return the hash of a model together with its check; its name and what is said about it change nothing."""
    fields = _hashed(model)
    held_out = model.held_out.model_copy(update={"model_sha256": None}) if model.held_out else None
    return content_hash({**fields, "held_out": held_out and plain(held_out)})


def hash_with_later(model: SimulationModel) -> str:
    """Return the hash of a model together with its check against later traces."""
    later = model.later.model_copy(update={"model_sha256": None}) if model.later else None
    return content_hash({**_hashed(model), "later": later and plain(later)})


def _hashed(model: SimulationModel) -> dict[str, object]:
    """Return the fields of a model without its name, what is said about it, and its checks."""
    apart = ("name", "about", "held_out", "later")
    return {name: value for name, value in plain(model).items() if name not in apart}


def is_changed(model: SimulationModel) -> bool:
    """Whether a model was changed since it was held against later traces."""
    noted = model.later.model_sha256 if model.later else None
    return noted is not None and noted != hash_with_later(model)


def as_text(model: SimulationModel) -> str:
    """Return a model as YAML, without the fields that it leaves open."""
    fields = plain(model)
    fields.pop("patternbench_model")
    yaml, made = YAML(), StringIO()
    yaml.width = 120
    yaml.dump(_in_short({"patternbench-model": VERSION, **fields}), made)
    return made.getvalue()


def _in_short(node: object) -> object:
    """Return a tree as it is written: without open fields, entries of lists that hold values alone on one line."""
    if isinstance(node, dict):
        return CommentedMap((name, _in_short(value)) for name, value in node.items() if value is not None)
    if not isinstance(node, list):
        return str(node) if isinstance(node, str) else node
    made = CommentedSeq(map(_in_short, node))
    for entry in made:
        if isinstance(entry, CommentedMap) and not any(isinstance(value, dict | list) for value in entry.values()):
            entry.fa.set_flow_style()
    if not any(isinstance(entry, dict | list) for entry in made):
        made.fa.set_flow_style()
    return made


def problems(model: SimulationModel) -> Iterator[Problem]:
    """Yield what is wrong with a model as a whole, each with its path."""
    known = model.services
    if model.entry not in known:
        yield _no_service(model.entry, "entry", known)
    for name, service in known.items():
        yield from _of_service(service, f"services.{name}", known)
        yield from _of_settings(service, f"services.{name}", model.settings)
    yield from _of_size(known)
    yield from _of_graph(model)
    yield from _changed(model)


def _changed(model: SimulationModel) -> Iterator[Problem]:
    """Yield that a model or its check was changed after one was held against the other's rounds."""
    noted = model.held_out.model_sha256 if model.held_out else None
    if noted is not None and noted != hash_of_both(model):
        message = "the model or its check was changed after the model was checked, so that the check no longer holds"
        hint = "take `held_out` out of it, or make the model anew with `patternbench calibrate`"
        yield Problem(message, "held_out", hint=hint)


def _of_service(service: ServiceAt, path: str, known: Mapping[str, ServiceAt]) -> Iterator[Problem]:
    yield from _of_times(service.times, f"{path}.times")
    yield from _of_calls(service.calls or [], f"{path}.calls", known)
    for name, operation in (service.operations or {}).items():
        yield from _of_times(operation.times, f"{path}.operations.{name}.times")
        yield from _of_calls(operation.calls or [], f"{path}.operations.{name}.calls", known)
    ats = [one.at for one in service.slowdown or []]
    for number in _not_rising(ats):
        hint = "write the entries in the order of `at`, each once"
        yield Problem("does not rise", f"{path}.slowdown[{number}].at", value=ats[number], hint=hint)
    if service.balance and (service.replicas or 1) == 1:
        yield Problem("has no use without `replicas`", f"{path}.balance", hint="leave it out")


def _of_times(times: ServiceTimes, path: str) -> Iterator[Problem]:
    """Yield what is wrong with a quantile function: it must reach from 0 to 1, rise in its shares, and never fall."""
    points = times.quantiles or []
    if not points:
        return
    for number, end in ((0, 0), (len(points) - 1, 1)):
        if points[number].share != end:
            message = "a quantile function begins with the share 0 and ends with 1"
            yield Problem(message, f"{path}.quantiles[{number}].share", value=points[number].share, allowed=str(end))
    for number in _not_rising([one.share for one in points]):
        yield Problem("does not rise", f"{path}.quantiles[{number}].share", value=points[number].share)
    for number in range(1, len(points)):
        if points[number].time < points[number - 1].time:
            message = f"the quantile function falls from {points[number - 1].time} to {points[number].time}"
            yield Problem(message, f"{path}.quantiles[{number}].time", allowed=f"at least {points[number - 1].time}")


def _not_rising(values: Sequence[float]) -> list[int]:
    return [number for number in range(1, len(values)) if values[number] <= values[number - 1]]


def _of_calls(calls: Sequence[ParallelCalls], path: str, known: Mapping[str, ServiceAt]) -> Iterator[Problem]:
    for stage, together in enumerate(calls):
        for number, call in enumerate(together.together):
            place = f"{path}[{stage}].together[{number}]"
            if call.to not in known:
                yield _no_service(call.to, f"{place}.to", known)
            try:
                check_stack(call.policies or [])
            except PydanticCustomError as error:
                yield Problem(error.message(), f"{place}.policies")


def _no_service(name: str, path: str, known: Mapping[str, ServiceAt]) -> Problem:
    listed = ", ".join(list(known)[:20]) + (f" and {len(known) - 20} more" if len(known) > 20 else "")  # noqa: PLR2004
    return Problem("there is no such service", path, value=name, allowed=listed, hint=did_you_mean(name, known))


def _of_settings(service: ServiceAt, path: str, settings: Mapping[str, Setting]) -> Iterator[Problem]:
    for field, value in numbers_of(service):
        if isinstance(value, SettingOf) and not _is_whole(settings.get(value.name)):
            hint = f"add `settings: {{{value.name}: 4}}`, the number at which the model holds"
            yield Problem(f"the model has no whole number for the setting {value.name}", f"{path}.{field}", hint=hint)


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def numbers_of(service: ServiceAt) -> list[tuple[str, object]]:
    """Return the fields of a service that a setting may give, by their paths."""
    line = [("line.limit", service.line.limit)] if service.line else []
    return [("workers", service.workers), *line]


def _of_size(services: Mapping[str, ServiceAt]) -> Iterator[Problem]:
    """Yield what is too much of a model as a whole."""
    calls = [call for service in services.values() for _, call in calls_of(service)]
    replicas = sum(service.replicas or 1 for service in services.values())
    for what, count, most in (
        ("replicas", replicas, MOST_REPLICAS),
        ("calls", sum(call.times for call in calls), MOST_WRITTEN),
    ):
        if count > most:
            yield Problem(f"{count:,} {what} are more than a model can have", "services", allowed=f"at most {most:,}")


def _of_graph(model: SimulationModel) -> Iterator[Problem]:
    """Yield calls that come back to their own service, or become too many: such a request would never end."""
    targets = {name: [call.to for _, call in calls_of(service)] for name, service in model.services.items()}
    done: dict[str, None] = {}
    for name in targets:
        circle = _circle(name, targets, done)
        if circle:
            path, _ = next((p, c) for p, c in calls_of(model.services[circle[0]]) if c.to == circle[1])
            message = f"calls go in a circle without end: {' -> '.join(circle)}"
            yield Problem(message, f"services.{circle[0]}.{path}.to", hint="leave one of these calls out")
            return
    yield from _multiplied(model.services, done)


def _multiplied(services: Mapping[str, ServiceAt], callees_first: Iterable[str]) -> Iterator[Problem]:
    """Yield the first service whose calls multiply beyond what anybody could wait for."""
    most: dict[str, float] = {}
    for name in (name for name in callees_first if name in services):
        every = [(path, _comes_to(call, most)) for path, call in calls_of(services[name])]
        # The calls of different operations are never made for the same request.
        parts = {path.partition("calls[")[0]: 0.0 for path, _ in every}
        for path, calls in every:
            parts[path.partition("calls[")[0]] += calls
        most[name] = max(parts.values(), default=0.0)
        if most[name] > MOST_CALLS:
            place = max(every, key=lambda one: one[1])[0]
            message = f"a request to {name} comes to {most[name]:,.0f} calls, retries included"
            hint = "call fewer services there, or lower `share`, `times` or `max_attempts`"
            yield Problem(message, f"services.{name}.{place}", allowed=f"at most {MOST_CALLS:,}", hint=hint)
            return


def _comes_to(call: DownstreamCall, of_callee: Mapping[str, float]) -> float:
    """Return how many calls one call comes to on average, if each of its attempts but the last fails."""
    attempts = math.prod(policy.attempts for policy in call.policies or [])
    return call.share / 100 * call.times * attempts * (1 + of_callee.get(call.to, 0.0))


def calls_of(service: ServiceAt) -> list[tuple[str, DownstreamCall]]:
    """Return every call that a service makes, with its path in the service."""
    own = [("calls", service.calls or [])]
    own += [(f"operations.{name}.calls", one.calls or []) for name, one in (service.operations or {}).items()]
    return [
        (f"{path}[{stage}].together[{number}]", call)
        for path, stages in own
        for stage, together in enumerate(stages)
        for number, call in enumerate(together.together)
    ]


def _circle(start: str, targets: Mapping[str, Sequence[str]], done: dict[str, None]) -> list[str]:
    """Return the first circle of calls that a service leads into; empty if there is none. Without recursion.

    ``done`` comes to hold all services that it leads into, those before it that they call.
    """
    path, places = [start], [0]
    while path:
        name, place = path[-1], places[-1]
        following = targets.get(name, ())
        if name in done or place == len(following):
            done[name] = None
            path.pop()
            places.pop()
            continue
        places[-1] += 1
        if following[place] in path:
            return [*path[path.index(following[place]) :], following[place]]
        path.append(following[place])
        places.append(0)
    return []
