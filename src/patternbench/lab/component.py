"""The base of every kind of component: settings that list their needs and describe a launch.

There is one file per kind in ``lab/components/``, all with the same structure.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from pydantic import BaseModel

from patternbench.lab.host.launch import Launch, Reset
from patternbench.lab.host.references import reference
from patternbench.lab.software.needs import Need
from patternbench.terms.problems import InputError, Problem, did_you_mean


@dataclass(frozen=True)
class ComponentRegistry:
    """The names of the components in use, from which a component takes those that it calls.

    ``groups`` has the names of the components of an entry that has several replicas. ``folder`` is that of the system
    file, from which a component's paths count.
    """

    names: Collection[str] = ()
    groups: Mapping[str, Sequence[str]] = field(default_factory=dict)
    folder: Path = Path()

    def absolute(self, path: str | None) -> str | None:
        """Return a path that a component's settings name, from the folder of the system file on; None for none."""
        return None if path is None else str((self.folder / path).absolute())

    def url(self, name_or_url: str, path: str) -> str:
        """Return a reference to a component's URL, or a URL given instead.

        Raises InputError, at the path of the setting, when it is neither.
        """
        return name_or_url if "://" in name_or_url else self.named(name_or_url, path)

    def urls(self, name_or_url: str, path: str) -> list[str]:
        """Return a reference to the URL of each component of a group, of a single component, or the URL itself.

        Raises InputError, at the path of the setting, if it is neither.
        """
        if "://" in name_or_url:
            return [name_or_url]
        return [reference(name) for name in self._members(name_or_url, path)]

    def named(self, name: str, path: str) -> str:
        """Return a reference to a component's URL; raises InputError, at the setting's path, when it isn't in use."""
        members = self._members(name, path)
        if len(members) > 1:
            message = f"names {len(members)} components, but one is needed here"
            raise InputError(Problem(message, path, value=name, allowed=", ".join(members)))
        return reference(members[0])

    def _members(self, name: str, path: str) -> Sequence[str]:
        if name in self.groups:
            return self.groups[name]
        if name in self.names:
            return [name]
        in_use = ", ".join(self.names)
        raise InputError(Problem(NOT_IN_USE, path, value=name, allowed=in_use, hint=did_you_mean(name, self.names)))


NOT_IN_USE = "is not among the components in use"


def existing_file(folder: Path, file: str, setting: str) -> str:
    """Return a file that a setting names, absolute; raises InputError, at its path, when there is none."""
    path = _absolute(folder, file)
    if not path.is_file():
        if path.is_dir():
            raise InputError(Problem("is a folder; a file is needed", setting, value=str(path)))
        raise InputError(Problem("there is no such file", setting, value=str(path), hint=_alike(path)))
    return str(path)


def built_file(folder: Path, file: str, how: str) -> Need:
    """Return the need of a file that someone has to build, called by its absolute path: only a start has to find it.

    ``how`` is what to type to build it.
    """
    path = _absolute(folder, file)
    if path.is_file():
        return Need(str(path), str(path), how)
    return Need(str(path), None, "; ".join(filter(None, [how, _alike(path)])))


def _absolute(folder: Path, file: str) -> Path:
    return Path(os.path.normpath(folder.absolute() / file))


def _alike(path: Path) -> str:
    """Return a question that suggests a file with a similar name in the same folder."""
    return did_you_mean(path.name, (sibling.name for sibling in path.parent.glob("*")))


class Component(BaseModel, ABC):
    """Base of the settings of a component: closed, and converted from what a study's settings hold."""

    model_config = {"extra": "forbid", "frozen": True}
    kind: ClassVar[str]
    has_image: ClassVar[bool] = False
    """Whether its kind runs in a container where a study wants that; any other stays a process."""

    @staticmethod
    @abstractmethod
    def needs() -> list[Need]:
        """Return the programs that must be installed for it."""

    @abstractmethod
    def describe(self, name: str, registry: ComponentRegistry) -> Launch:
        """How to run it under a name; raises InputError when it does not go with its neighbours."""

    def in_container(self, launch: Launch, registry: ComponentRegistry) -> Launch:
        """Return a launch of it in a container; the same launch where its kind stays a process.

        Raises InputError where no one has said of which image.
        """
        return launch

    def resets(self) -> Mapping[str, tuple[Reset, ...]]:
        """Return the words by which a system file may say ``reset`` of it, with what each does; none by default."""
        return {}
