"""The system files: which components make up a system, and which settings a study may vary."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal, TypeVar, cast

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from patternbench.lab import shipped
from patternbench.lab.host.references import reference
from patternbench.study.load import dotted, validated
from patternbench.study.model.placement import CONTAINERS, IN, PROCESSES, RESOURCES, ServiceResources, resource_of
from patternbench.study.model.settings import Settable, is_duration
from patternbench.study.model.system import NamedSystem, System
from patternbench.study.models import Model, Name
from patternbench.study.text.document import Document, parse
from patternbench.study.text.files import read_text
from patternbench.terms.problems import InputError, Problem, did_you_mean, distinct, gathered
from patternbench.terms.roles import Unit

FOLDER = shipped.folder("systems")
LOCATED = (("components",), ("endpoint",), ("policies",))
"""The parts of a file in which problems may be found later."""
MOST_REPLICAS = 100
REFERENCE = re.compile(r"\$\{([a-z_]+)\}")
REPLICA = "replica"
"""``${replica}`` is what the name of a replica has behind that of its entry: nothing for one, ``-1`` for the first."""
ALL_URLS = re.compile(r"\$\{([A-Za-z0-9][\w-]*)\.urls\}")
"""Stands for the URLs of all components of an entry, between commas."""


class ConditionalPart(BaseModel):
    """A part of a system file that holds only for some levels of its settings."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    when: dict[str, object] = {}
    unless: dict[str, object] = {}

    def is_called_for(self, levels: Mapping[str, list[object]]) -> bool:
        """Whether ``when`` holds for some level of each of its settings, and ``unless`` not for all of any."""
        when = (any(level in _several(values) for level in levels[name]) for name, values in self.when.items())
        unless = (all(level in _several(values) for level in levels[name]) for name, values in self.unless.items())
        return all(when) and not any(unless)


class FirstRequest(ConditionalPart):
    """A first request to try, which ``up`` prints."""

    text: str


class ConditionalEndpoint(ConditionalPart):
    """A component that load goes to with some levels of the settings only."""

    name: str


class SystemPolicies(ConditionalPart):
    """What a component of the system does about the calls that it makes, as the `stack` of a study says it.

    `patternbench apply` writes it for others where a study varies it. An entry of `on` may be a setting with several,
    such as `500,503`, or `none`.
    """

    stack: Annotated[list[dict[str, object]], Field(min_length=1)]

    @property
    def named(self) -> set[str]:
        """The settings that stand in its policies."""
        return {*_mentioned(self.stack)}


class SystemEntry(ConditionalPart):
    """A component's entry in a system file: its name, when it is in use, and its number of replicas.

    All the rest are its own settings.
    """

    model_config = ConfigDict(extra="allow", strict=True, frozen=True)

    name: str | None = None
    replicas: object = 1

    @property
    def own(self) -> dict[str, object]:
        """The settings of the component itself, which its kind checks."""
        return self.model_extra or {}

    def components(self, name: str, values: Mapping[str, object], replicas: object = None) -> list[str]:
        """Return the names of its components: its own, or numbered ones for several; raises InputError for none.

        ``replicas`` is their number where a study gives it.
        """
        number = _filled(self.replicas, values) if replicas is None else replicas
        if not isinstance(number, int) or isinstance(number, bool) or not 1 <= number <= MOST_REPLICAS:
            allowed = f"a whole number from 1 to {MOST_REPLICAS}"
            raise InputError(Problem("is not allowed here", f"{name}.replicas", value=number, allowed=allowed))
        return [name] if number == 1 else [f"{name}-{count}" for count in range(1, number + 1)]


class Origin(Model):
    """The absolute path of a system file, and the line of each of its parts by the part's path."""

    file: str
    lines: dict[str, int]


class WrittenSystem(Settable):
    """A system file, version 1."""

    patternbench_system: Annotated[Literal[1], Field(alias="patternbench-system")]
    name: Name
    about: str
    components: Annotated[list[dict[str, SystemEntry]], Field(min_length=1)]
    endpoint: str | list[str | ConditionalEndpoint]
    policies: list[SystemPolicies] = Field(default_factory=list)
    first_request: str | list[FirstRequest] = ""

    @model_validator(mode="after")
    def _conditions_on_settings(self) -> WrittenSystem:
        for kind, entry in (*self._entries(), *self._other_parts()):
            for name in (*entry.when, *entry.unless):
                if name not in self.settings:
                    context = {"kind": kind, "name": name, "allowed": ", ".join(self.settings)}
                    raise PydanticCustomError(
                        "no_setting", "{kind} depends on `{name}`, which isn't a setting", context
                    )
        return self

    def endpoints(self, settings: Mapping[str, object]) -> list[str]:
        """Return the components in use that load goes to with these settings, in turn."""
        levels = {name: [value] for name, value in self._values(settings).items()}
        entries = [part.name for part in self._endpoints() if part.is_called_for(levels)]
        groups = self.groups(settings)
        left_out = {entry.name or kind for kind, entry in self._entries()} - groups.keys()
        in_use = [groups.get(entry, [entry]) for entry in entries if entry not in left_out]
        return [component for group in in_use for component in group] or entries

    def first_request_with(self, settings: Mapping[str, object]) -> str:
        """Return the first request to try with these settings; nothing if the file doesn't say."""
        levels = {name: [value] for name, value in self._values(settings).items()}
        return "\n".join(part.text.rstrip() for part in self._first_requests() if part.is_called_for(levels))

    def policies_with(self, settings: Mapping[str, object]) -> list[tuple[SystemPolicies, list[dict[str, object]]]]:
        """Return what the system's own components do about calls with these settings, each with its filled stack."""
        values = self._values(settings)
        levels = {name: [value] for name, value in values.items()}
        return [(part, _filled(part.stack, values)) for part in self.policies if part.is_called_for(levels)]

    def with_settings(self, settings: Mapping[str, object]) -> list[tuple[str, str, dict[str, object]]]:
        """Return the components in use as (name, kind, settings), every ``${setting}`` replaced by its level.

        An entry with several replicas is as many components. Raises InputError for an invalid number of replicas.
        """
        values, groups = self._values(settings), self.groups(settings)
        return [
            (
                component,
                kind,
                _with_all_urls(_filled(entry.own, {**values, REPLICA: component[len(name) :]}), groups)
                | placement_of(name, values),
            )
            for kind, entry in self._used_with(values)
            for name in [entry.name or kind]
            for component in groups[name]
        ]

    def groups(self, settings: Mapping[str, object]) -> dict[str, list[str]]:
        """Return the components in use of each entry, by its name in the file: NAME, or NAME-1, NAME-2, ..."""
        values = self._values(settings)
        names = {entry.name or kind: entry for kind, entry in self._used_with(values)}
        return {name: entry.components(name, values, values.get(f"{name}.replicas")) for name, entry in names.items()}

    def settings_of(self, component: str, field: str) -> list[str]:
        """Return the settings in a field of a component; none if the system file gives its value itself."""
        number = self._number_of(component)
        if number is None:
            return []
        entry = self._entries()[number][1]
        own = {**entry.own, "replicas": entry.replicas}
        return list(_mentioned(own.get(field.partition(".")[0])))

    def settings_by_field(self, component: str, settings: Mapping[str, object]) -> dict[str, str]:
        """Return the setting that fills each field of a component in use, by its path: ``retries.num_retries``.

        A field that a setting fills only in part, or that the file gives itself, is left out.
        """
        values, groups = self._values(settings), self.groups(settings)
        used = (entry for kind, entry in self._used_with(values) if component in groups[entry.name or kind])
        return {path: name for entry in used for path, name in _filling(entry.own)}

    def kinds(self, levels: Mapping[str, Iterable[object]] | None = None) -> list[str]:
        """Return the kinds of components in the order of starting: all, or those that some of the levels call for."""
        if levels is None:
            return [kind for kind, _ in self._entries()]
        defaults: dict[str, list[object]] = {name: [spec.default] for name, spec in self.settings.items()}
        return [kind for kind, _ in self._used(defaults | {name: list(values) for name, values in levels.items()})]

    def _values(self, settings: Mapping[str, object]) -> dict[str, object]:
        return {**{name: spec.default for name, spec in self.settings.items()}, **settings}

    def _used(self, levels: Mapping[str, list[object]]) -> list[tuple[str, SystemEntry]]:
        return [(kind, entry) for kind, entry in self._entries() if entry.is_called_for(levels)]

    def _used_with(self, values: Mapping[str, object]) -> list[tuple[str, SystemEntry]]:
        return self._used({name: [value] for name, value in values.items()})

    def _first_requests(self) -> list[FirstRequest]:
        written = self.first_request
        return [FirstRequest(text=written)] if isinstance(written, str) else written

    def _endpoints(self) -> list[ConditionalEndpoint]:
        written = [self.endpoint] if isinstance(self.endpoint, str) else self.endpoint
        return [ConditionalEndpoint(name=one) if isinstance(one, str) else one for one in written]

    def _other_parts(self) -> Iterator[tuple[str, ConditionalPart]]:
        yield from (("first_request", part) for part in self._first_requests())
        yield from (("policies", part) for part in self.policies)
        yield from (("endpoint", part) for part in self._endpoints())

    def _entries(self) -> list[tuple[str, SystemEntry]]:
        return [next(iter(entry.items())) for entry in self.components]

    def _number_of(self, component: str) -> int | None:
        """Which entry describes a component, or one of its replicas; None for a component of no one."""
        names = [entry.name or kind for kind, entry in self._entries()]
        sought = (component, component.rpartition("-")[0])
        return next((names.index(name) for name in sought if name in names), None)

    def unknown_settings(self) -> Iterator[Problem]:
        """Every ``${name}`` in a component, or in a policy, that names no setting."""
        for number, (kind, entry) in enumerate(self._entries()):
            for field, value in (*entry.own.items(), ("replicas", entry.replicas)):
                yield from self._unknown_in(value, f"components[{number}].{kind}.{field}")
        for number, part in enumerate(self.policies):
            yield from self._unknown_in(part.stack, f"policies[{number}].stack")

    def _unknown_in(self, node: object, path: str) -> Iterator[Problem]:
        for name in sorted({*_mentioned(node)} - self.settings.keys() - {REPLICA}):
            allowed = ", ".join(self.settings) or "none, because there are no settings"
            hint = did_you_mean(name, self.settings)
            yield Problem(f"`${{{name}}}` isn't a setting", path, allowed=allowed, hint=hint)

    def check(self, levels: Iterable[Mapping[str, object]]) -> None:
        """Raise InputError listing what is wrong with the settings given in any of the dicts."""
        problems = [problem for settings in levels for problem in self.problems(settings)]
        if problems:
            raise InputError(distinct(problems))

    def problems(self, settings: Mapping[str, object]) -> list[Problem]:
        """Problems of the settings of a study or a command line."""
        return [problem for name, value in settings.items() for problem in self._setting_problems(name, value)]

    def _setting_problems(self, name: str, value: object) -> list[Problem]:
        spec = self.settings.get(name)
        if spec is None and name == IN:
            return _place_problems(value)
        if spec is None and (resource := resource_of(name)):
            return self._resource_problems(*resource, value)
        if spec is None:
            declared = ", ".join(self.settings) or "none"
            hint = did_you_mean(name, self.settings)
            return [Problem("unknown setting", path=f"system.settings.{name}", allowed=declared, hint=hint)]
        if spec.allowed and value not in spec.allowed:
            allowed = ", ".join(map(str, spec.allowed))
            return [Problem("is not allowed here", path=f"system.settings.{name}", value=value, allowed=allowed)]
        if spec.unit is Unit.DURATION and not is_duration(value):
            allowed = "a number and a unit: `20ms`, `3s` (us, ms, s, m, h)"
            return [Problem("is not a duration", path=f"system.settings.{name}", value=value, allowed=allowed)]
        return []

    def _resource_problems(self, service: str, resource: str, value: object) -> list[Problem]:
        path, there = f"system.services.{service}", [entry.name or kind for kind, entry in self._entries()]
        if service not in there:
            allowed, hint = ", ".join(dict.fromkeys(there)), did_you_mean(service, there)
            return [Problem("there is no such service in the system", path, value=service, allowed=allowed, hint=hint)]
        problems: list[Problem] = []
        with gathered(problems):
            validated(ServiceResources, Document("", {resource: value}))
        return [problem.below(path) for problem in problems]


class SystemFile(WrittenSystem):
    """A system file and where it lies, which its author does not write."""

    origin: Origin

    @property
    def folder(self) -> Path:
        """The folder of the file, to which its paths are relative."""
        return Path(self.origin.file).parent

    def placed(self, problem: Problem) -> Problem:
        """Return a problem whose path begins with a component, with that component's line in the file."""
        component, _, field = problem.path.partition(".")
        number = self._number_of(component)
        entry = "" if number is None else f"components[{number}].{self._entries()[number][0]}"
        path = f"{entry}.{field}" if entry and field else entry or problem.path
        return replace(problem, file=self.origin.file, line=self.line_of(path))

    def origin_of(self, component: str) -> str:
        """Where a component is described, as ``FILE:LINE``."""
        problem = self.placed(Problem("", component))
        return f"{problem.file}:{problem.line}"

    def line_of(self, path: str) -> int:
        """Return the line of a path, or of the nearest thing around it."""
        while path and path not in self.origin.lines:
            path = path[: max(path.rfind("."), path.rfind("["), 0)]
        return self.origin.lines.get(path, 1)


def load(name: str, study_folder: Path | None = None) -> SystemFile:
    """Return the system of that name: first next to the study (``systems/NAME.yaml``), then among the shipped ones."""
    files = [folder / f"{name}.yaml" for folder in _folders(study_folder)]
    path = next((file for file in files if file.is_file()), None)
    if path is None:
        available = names(study_folder)
        message = f"there is no system `{name}`"
        hint = did_you_mean(name, available)
        raise InputError(Problem(message, path="system", allowed=", ".join(available), hint=hint))
    return load_file(path)


def load_file(path: Path) -> SystemFile:
    """Return the system that a file describes. Raises InputError listing its problems."""
    return _located(parse(read_text(path), str(path)))


def _located(document: Document) -> SystemFile:
    """Return the system in a document. Raises InputError listing its problems."""
    written = cast(WrittenSystem, validated(WrittenSystem, document))
    lines = {dotted(path): line for path, line in document.lines.items() if path[:1] in LOCATED}
    origin = Origin(file=str(Path(document.file).absolute()), lines=lines)
    system = SystemFile.model_validate({**document.fields, "origin": origin})
    problems = [replace(p, file=document.file, line=system.line_of(p.path)) for p in written.unknown_settings()]
    if problems:
        raise InputError(problems)
    return system


def file_of(system: System, study_folder: Path | None = None) -> SystemFile | None:
    """Return the file of a system that a study names; None for one that already runs."""
    return load(system.name, study_folder) if isinstance(system, NamedSystem) else None


def own_file(system: System, study_folder: Path) -> str | None:
    """Return the name, from the study's folder, of the file there that describes its system; else None."""
    name = own_name(system)
    return name if name and (study_folder / name).is_file() else None


def own_name(system: System) -> str:
    """How a file of the user's own that describes a system is called, from the study's folder; "" for a URL."""
    return f"systems/{system.name}.yaml" if isinstance(system, NamedSystem) else ""


def names(study_folder: Path | None = None) -> list[str]:
    """Return the names of the shipped systems, and of those next to a study."""
    return sorted({path.stem for folder in _folders(study_folder) for path in folder.glob("*.yaml")})


def _folders(study_folder: Path | None) -> list[Path]:
    """Where system files are looked for, in this order."""
    return [study_folder / "systems", FOLDER] if study_folder else [FOLDER]


def placement_of(entry: str, values: Mapping[str, object]) -> dict[str, object]:
    """Return where the components of an entry run, and what they may use, as fields that no component has itself."""
    place = {IN: values[IN]} if IN in values else {}
    return place | {f".{name}": values[f"{entry}.{name}"] for name in RESOURCES if f"{entry}.{name}" in values}


def _place_problems(value: object) -> list[Problem]:
    if value in (PROCESSES, CONTAINERS):
        return []
    return [Problem("is not allowed here", path="system.in", value=value, allowed=f"{PROCESSES}, {CONTAINERS}")]


def _several(values: object) -> list[object]:
    return values if isinstance(values, list) else [values]


def _mentioned(node: object) -> Iterator[str]:
    """Yield the names of settings in the texts of a node."""
    if isinstance(node, str):
        yield from REFERENCE.findall(node)
    elif isinstance(node, dict):
        yield from (name for value in node.values() for name in _mentioned(value))
    elif isinstance(node, list):
        yield from (name for value in node for name in _mentioned(value))


def fields_within(node: object, path: str = "") -> Iterator[tuple[str, object]]:
    """Yield each value of a component's fields with its path: ``limit``, ``routes[0].to``."""
    if isinstance(node, dict):
        for key, value in node.items():
            yield from fields_within(value, f"{path}.{key}" if path else str(key))
    elif isinstance(node, list) and any(isinstance(one, dict) for one in node):
        for number, one in enumerate(node):
            yield from fields_within(one, f"{path}[{number}]")
    else:
        yield path, node


def _filling(own: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Yield the fields that one setting fills alone, each with the setting."""
    for path, value in fields_within(dict(own)):
        whole = REFERENCE.fullmatch(value) if isinstance(value, str) else None
        if whole and whole[1] != REPLICA:
            yield path, whole[1]


Node = TypeVar("Node")


def _with_all_urls(node: Node, groups: Mapping[str, list[str]]) -> Node:
    """Return a node with ``${NAME.urls}`` replaced by the references to the URL of each component of that name."""

    def urls(match: re.Match[str]) -> str:
        return ",".join(map(reference, groups.get(match[1], [match[1]])))

    return _in_texts(node, lambda text: ALL_URLS.sub(urls, text))


def _filled(node: Node, values: Mapping[str, object]) -> Node:
    """Return a node with every ``${setting}`` replaced; a text that is one alone becomes the level itself."""

    def level(text: str) -> object:
        whole = REFERENCE.fullmatch(text)
        return values[whole[1]] if whole else REFERENCE.sub(lambda match: str(values[match[1]]), text)

    return _in_texts(node, level)


def _in_texts(node: Node, change: Callable[[str], object]) -> Node:
    """Return a node with each of its texts changed."""
    changed: object = node
    if isinstance(node, dict):
        changed = {key: _in_texts(value, change) for key, value in node.items()}
    elif isinstance(node, list):
        changed = [_in_texts(value, change) for value in node]
    elif isinstance(node, str):
        changed = change(node)
    return cast(Node, changed)
