"""What a client has that is special about its library; the kit does the rest."""

from __future__ import annotations

import platform
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import version
from typing import Protocol

from patternbench_client.outcomes import Outcome
from patternbench_client.rounds import CONTRACT, Policy, Retry

Guarded = Callable[[], Awaitable[Outcome]]
"""What a policy guards: one try on the wire, or the policies further in. It may raise Rejected."""
Guard = Callable[[Guarded], Guarded]
"""Puts a policy of a library around what it guards; it raises Rejected when it lets nothing through."""


@dataclass(frozen=True)
class Refusal:
    """What a library cannot express of a policy; ``path`` is below the policy, and empty for all of it."""

    path: str
    value: object
    message: str
    allowed: str | None = None

    def as_json(self) -> dict[str, object]:
        """Return the problem as the contract has it."""
        return {"path": self.path, "value": self.value, "message": self.message, "allowed": self.allowed}


@dataclass(frozen=True)
class Description:
    """Who a client is; ``distributions`` are the names of its libraries as pip knows them."""

    name: str
    library: str
    distributions: tuple[str, ...]
    strategies: tuple[str, ...]

    def as_json(self) -> dict[str, object]:
        """Return what ``GET /client`` answers."""
        return {
            "contract": CONTRACT,
            "name": self.name,
            "version": "0.1.0",
            "language": f"Python {platform.python_version()}",
            "library": {"name": self.library, "version": "/".join(map(version, self.distributions))},
            "strategies": list(self.strategies),
        }


@dataclass(frozen=True)
class Entry:
    """A policy where it stands in a round: those further in, the outermost first, and how many users there are."""

    policy: Policy
    guarded: tuple[Policy, ...]
    users: int


class Adapter(Protocol):
    """A library behind the contract."""

    description: Description

    def refused(self, entry: Entry) -> Iterator[Refusal]:
        """Return what of a policy the library cannot do exactly: by name, never rounded or clamped."""

    def guard(self, policy: Policy) -> Guard:
        """Return a new policy of the library, every parameter set.

        Asked once per round, or per user, as its scope says.
        """


def lacking(allowed: str) -> Refusal:
    """Return the refusal of a policy that a client does not have."""
    return Refusal("", None, "this client does not have it", allowed)


def retry_after(retry: Retry) -> Iterator[Refusal]:
    """Yield the refusal to honour ``Retry-After``, which no client of this kit reads."""
    if retry.retry_after_max_us:
        message = "this client does not read Retry-After"
        yield Refusal("retry_after_max_us", retry.retry_after_max_us, message, "0")
