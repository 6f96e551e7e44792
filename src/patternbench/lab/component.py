"""What every kind of component is to the lab: settings that can say what they need and describe a launch.

There is one file per kind in ``lab/components/``; all of them look alike.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection
from dataclasses import dataclass
from typing import ClassVar

from pydantic import BaseModel

from patternbench.lab.launch import Launch
from patternbench.lab.needs import Need
from patternbench.lab.references import reference
from patternbench.study.problems import InputError, Problem, did_you_mean


@dataclass(frozen=True)
class Neighbours:
    """The names of the components in use, from which a component takes those that it calls."""

    names: Collection[str] = ()

    def url(self, name_or_url: str, path: str) -> str:
        """A reference to a component's URL, or the URL itself that stands in its place.

        Raises InputError, at the path of the setting, when it is neither.
        """
        return name_or_url if "://" in name_or_url else self.named(name_or_url, path)

    def named(self, name: str, path: str) -> str:
        """A reference to a component's URL; raises InputError, at the path of the setting, when it is not in use."""
        if name in self.names:
            return reference(name)
        in_use = ", ".join(self.names)
        raise InputError(Problem(NOT_IN_USE, path, value=name, allowed=in_use, hint=did_you_mean(name, self.names)))


NOT_IN_USE = "is not among the components in use"


class Component(BaseModel, ABC):
    """Base of the settings of a component: closed, and converted from what a study's settings hold."""

    model_config = {"extra": "forbid", "frozen": True}
    kind: ClassVar[str]

    @staticmethod
    @abstractmethod
    def needs() -> list[Need]:
        """What must be installed for it."""

    @abstractmethod
    def describe(self, name: str, neighbours: Neighbours) -> Launch:
        """How to run it under a name; raises InputError when it does not go with its neighbours."""
