"""What a study may ask of usage: components whose CPU time and memory each round measures, by names for them."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field

from patternbench.study.model.parts import Name
from patternbench.study.questions import FormulaName, Question

USAGE_PREFIX = "usage."


def usage_name(name: str, what: str) -> str:
    """Return the response that a kind of usage of named components is: ``usage.store.cpu_s``."""
    return f"{USAGE_PREFIX}{name}.{what}"


def _listed(value: object) -> object:
    return value if isinstance(value, list) else [value]


UsingComponents = Annotated[list[Name], BeforeValidator(_listed), Field(min_length=1)]
"""Components whose CPU time and memory are added up: one, or a list; an entry of the system file has all replicas.

Of a Compose project, ``shop`` has all containers, and ``shop.store`` those of a service.
"""


class UsageQuestion(Question):
    """The components by the names that responses have for them."""

    usage: dict[FormulaName, UsingComponents] = Field(default_factory=dict)

    @property
    def contained(self) -> list[str]:
        """The names under which only services of Compose projects are, whose throttling is measured, too."""
        return [name for name, own in self.usage.items() if all("." in one for one in own)]


QUESTION = UsageQuestion
