"""The system files: which components make up a system, and which settings a study may vary."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Literal, cast

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from patternbench.lab import shipped
from patternbench.study.document import parse
from patternbench.study.files import read_text
from patternbench.study.load import validated
from patternbench.study.models import Name
from patternbench.study.problems import InputError, Problem, did_you_mean, distinct
from patternbench.study.roles import Unit
from patternbench.study.settings import Settable, is_duration
from patternbench.study.system import NamedSystem, System

FOLDER = shipped.folder("systems")
REFERENCE = re.compile(r"\$\{([a-z_]+)\}")


class SystemEntry(BaseModel):
    """What a system file says of a component: its name, and when it is in use; all the rest are its own settings."""

    model_config = ConfigDict(extra="allow", strict=True, frozen=True)

    name: str | None = None
    when: dict[str, object] = {}
    unless: dict[str, object] = {}

    @property
    def own(self) -> dict[str, object]:
        """The settings of the component itself, which its kind checks."""
        return self.model_extra or {}

    def is_called_for(self, levels: Mapping[str, list[object]]) -> bool:
        """Whether ``when`` holds for some level of each of its settings, and ``unless`` not for all of any."""
        when = (any(level in _several(values) for level in levels[name]) for name, values in self.when.items())
        unless = (all(level in _several(values) for level in levels[name]) for name, values in self.unless.items())
        return all(when) and not any(unless)


class SystemFile(Settable):
    """A system file, version 1."""

    patternbench_system: Annotated[Literal[1], Field(alias="patternbench-system")]
    name: Name
    about: str
    components: Annotated[list[dict[str, SystemEntry]], Field(min_length=1)]
    endpoint: str | list[str]

    @model_validator(mode="after")
    def _conditions_on_settings(self) -> SystemFile:
        for kind, entry in self._entries():
            for name in (*entry.when, *entry.unless):
                if name not in self.settings:
                    context = {"kind": kind, "name": name, "allowed": ", ".join(self.settings)}
                    raise PydanticCustomError("no_setting", "{kind} depends on `{name}`, which is no setting", context)
        return self

    @property
    def endpoints(self) -> list[str]:
        """The components that load goes to, in turn."""
        return [self.endpoint] if isinstance(self.endpoint, str) else self.endpoint

    def with_settings(self, settings: Mapping[str, object]) -> list[tuple[str, str, dict[str, object]]]:
        """The components in use as (name, kind, settings), every ``${setting}`` replaced by its level."""
        values = self._values(settings)
        used = self._used({name: [value] for name, value in values.items()})
        return [(entry.name or kind, kind, _filled(entry.own, values)) for kind, entry in used]

    def settings_of(self, component: str, field: str) -> list[str]:
        """Which settings a field of a component is made of; none when the system file says it itself."""
        own = next((entry.own for kind, entry in self._entries() if (entry.name or kind) == component), {})
        return REFERENCE.findall(str(own.get(field, "")))

    def kinds(self, levels: Mapping[str, Iterable[object]] | None = None) -> list[str]:
        """The kinds of the components in the order of starting: all, or those that some of the levels call for."""
        if levels is None:
            return [kind for kind, _ in self._entries()]
        defaults: dict[str, list[object]] = {name: [spec.default] for name, spec in self.settings.items()}
        return [kind for kind, _ in self._used(defaults | {name: list(values) for name, values in levels.items()})]

    def _values(self, settings: Mapping[str, object]) -> dict[str, object]:
        return {**{name: spec.default for name, spec in self.settings.items()}, **settings}

    def _used(self, levels: Mapping[str, list[object]]) -> list[tuple[str, SystemEntry]]:
        return [(kind, entry) for kind, entry in self._entries() if entry.is_called_for(levels)]

    def _entries(self) -> list[tuple[str, SystemEntry]]:
        return [next(iter(entry.items())) for entry in self.components]

    def check(self, levels: Iterable[Mapping[str, object]]) -> None:
        """Raise InputError listing what is wrong with the settings given in any of the dicts."""
        problems = [problem for settings in levels for problem in self.problems(settings)]
        if problems:
            raise InputError(distinct(problems))

    def problems(self, settings: Mapping[str, object]) -> list[Problem]:
        """What is wrong with settings that a study or a command line gives."""
        return [problem for name, value in settings.items() for problem in self._setting_problems(name, value)]

    def _setting_problems(self, name: str, value: object) -> list[Problem]:
        spec = self.settings.get(name)
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


def load(name: str, beside: Path | None = None) -> SystemFile:
    """The system of that name: beside the study first (``systems/NAME.yaml``), then among ours."""
    folders = [folder for folder in ((beside / "systems") if beside else None, FOLDER) if folder]
    path = next((folder / f"{name}.yaml" for folder in folders if (folder / f"{name}.yaml").is_file()), None)
    if path is None:
        available = names()
        message = f"there is no system `{name}`"
        hint = did_you_mean(name, available)
        raise InputError(Problem(message, path="system", allowed=", ".join(available), hint=hint))
    return cast(SystemFile, validated(SystemFile, parse(read_text(path), str(path))))


def file_of(system: System, beside: Path | None = None) -> SystemFile | None:
    """The file of a system that a study names; None for one that already runs."""
    return load(system.name, beside) if isinstance(system, NamedSystem) else None


def names() -> list[str]:
    """The names of our own systems."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


def _several(values: object) -> list[object]:
    return values if isinstance(values, list) else [values]


def _filled(fields: Mapping[str, object], values: Mapping[str, object]) -> dict[str, object]:
    return {name: _value(node, values) for name, node in fields.items()}


def _value(node: object, values: Mapping[str, object]) -> object:
    if isinstance(node, dict):
        return _filled(node, values)
    if not isinstance(node, str):
        return node
    whole = REFERENCE.fullmatch(node)
    return values[whole[1]] if whole else REFERENCE.sub(lambda match: str(values[match[1]]), node)
