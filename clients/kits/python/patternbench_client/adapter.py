"""What a client has that is special about its library; the kit does the rest."""

from __future__ import annotations

import platform
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import version
from typing import Protocol

from patternbench_client.outcomes import Outcome
from patternbench_client.rounds import CONTRACT, Retry

Attempt = Callable[[], Awaitable[Outcome]]
"""One try on the wire."""
Call = Callable[[], Awaitable[Outcome]]
"""One call: attempts as a policy of the library makes them; its outcome is that of the last."""


@dataclass(frozen=True)
class Refusal:
    """What a library cannot express of a policy; ``path`` is that of the round, below ``strategy``."""

    path: str
    value: object
    message: str
    allowed: str | None = None

    def as_json(self) -> dict[str, object]:
        """The problem as the contract has it."""
        return {"path": self.path, "value": self.value, "message": self.message, "allowed": self.allowed}


@dataclass(frozen=True)
class Description:
    """Who a client is; ``distribution`` is the name of its library as pip knows it."""

    name: str
    library: str
    distribution: str
    strategies: tuple[str, ...]

    def as_json(self) -> dict[str, object]:
        """What ``GET /client`` answers."""
        return {
            "contract": CONTRACT,
            "name": self.name,
            "version": "0.1.0",
            "language": f"Python {platform.python_version()}",
            "library": {"name": self.library, "version": version(self.distribution)},
            "strategies": list(self.strategies),
        }


class Adapter(Protocol):
    """A library behind the contract."""

    description: Description

    def refused(self, retry: Retry) -> Iterator[Refusal]:
        """What of a retry the library cannot do exactly: by name, never rounded or clamped."""

    def retrying(self, retry: Retry, attempt: Attempt) -> Call:
        """The calls of one user through the library's retry, every parameter of it set."""
