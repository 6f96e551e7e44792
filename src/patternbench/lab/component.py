"""What every kind of component is to the lab: settings to a process, and what it needs.

One file per kind of component stands beside this one; all of them look alike.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Protocol

from pydantic import BaseModel

from patternbench.lab.needs import Need
from patternbench.lab.processes import Process


@dataclass(frozen=True)
class Place:
    """Where a component runs: its folder, and the URLs of the components that are already up."""

    folder: Path
    urls: Mapping[str, str]


@dataclass(frozen=True)
class Log:
    """What a component writes while it is measured: a folder of files, and what makes it write them to the end.

    A system with such a component is brought up anew for every round, so that a log belongs to one round.
    """

    folder: Path
    finish: Callable[[], None]


@dataclass
class Running:
    """A component that is up: its process, the URL that others reach it by, further endpoints by name, its log.

    ``account`` says who it runs as, for kinds that have a user of their own.
    """

    process: Process
    url: str
    endpoints: dict[str, str] = field(default_factory=dict)
    log: Log | None = None
    account: str = ""


class Component(Protocol):
    """A kind of component: a model of its settings that can say what it needs and can start."""

    kind: ClassVar[str]

    @staticmethod
    def needs() -> list[Need]:
        """What must be installed for it."""

    def start(self, name: str, place: Place) -> Running:
        """Start it and return once it answers; raise StartError when it does not."""


class Settings(BaseModel):
    """Base of the settings of a component: closed, and converted from what a study's settings hold."""

    model_config = {"extra": "forbid", "frozen": True}
