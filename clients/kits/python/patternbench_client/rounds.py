"""One round, as the contract describes it; times in microseconds.

patternbench sends valid rounds. What does not fit these classes belongs to another version of the contract.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from patternbench_client.outcomes import Outcome, is_in, is_success

CONTRACT = 1
CLIENT = "client"
"""The scope of a policy that all users share."""


class NotARoundError(ValueError):
    """The body isn't a round of this version: ``path`` says where, the message why."""

    def __init__(self, message: str, path: str = "") -> None:
        super().__init__(message)
        self.path = path


@dataclass(frozen=True)
class Request:
    """The request of every attempt."""

    method: str
    path: str
    headers: dict[str, str]
    body: str | None
    timeout_us: int


@dataclass(frozen=True)
class Backoff:
    """How long to wait before each further attempt: ``fixed``, ``linear`` or ``exponential``."""

    kind: str
    initial_us: int
    increment_us: int = 0
    multiplier: float = 1
    max_us: int | None = None


@dataclass(frozen=True)
class Retry:
    """Tries again after a failure; ``max_attempts`` include the first. ``jitter`` is a name, or a share.

    ``on`` are the failures that are tried again, None for all; ``retry_after_max_us`` is the longest ``Retry-After``
    that is waited for.
    """

    kind: ClassVar[str] = "retry"
    scope: ClassVar[str] = CLIENT
    max_attempts: int
    backoff: Backoff
    jitter: str | float
    on: list[Outcome] | None = None
    retry_after_max_us: int = 0

    def retries(self, outcome: Outcome) -> bool:
        """Whether an attempt with this outcome is tried again."""
        return not is_success(outcome) and (self.on is None or any(is_in(outcome, failure) for failure in self.on))


@dataclass(frozen=True)
class SlowCall:
    """When a call counts as slow, and the percentage of such calls that opens a breaker."""

    rate: float
    duration_us: int


@dataclass(frozen=True)
class Window:
    """The results that a closed breaker looks at: one of the two is None."""

    calls: int | None = None
    time_us: int | None = None


@dataclass(frozen=True)
class CircuitBreaker:
    """Rejects calls after failures; rates in percent, ``scope`` is ``client`` or ``user``."""

    kind: ClassVar[str] = "circuit_breaker"
    failure_rate: float
    slow_call: SlowCall | None
    window: Window
    minimum_calls: int
    open_for_us: int
    half_open_calls: int
    scope: str


@dataclass(frozen=True)
class Other:
    """A policy that no client of this kit has."""

    scope: ClassVar[str] = CLIENT
    kind: str


Policy = Retry | CircuitBreaker | Other


@dataclass(frozen=True)
class Round:
    """What each of the virtual users does, and for how long.

    ``kind`` is its strategy's; ``policies`` stand around an attempt, the outermost first.
    """

    contract: int
    target: str
    request: Request
    users: int
    think_time_us: int
    successes: int | None
    max_attempts: int | None
    rejected_pause_us: int
    time_limit_us: int
    seed: int
    kind: str
    policies: tuple[Policy, ...]


def read(body: bytes) -> Round:
    """Return the round of a request's body; raises NotARoundError."""
    try:
        fields = json.loads(body)
        if not isinstance(fields, dict) or fields.get("contract") != CONTRACT:
            raise NotARoundError(f"is not a round of version {CONTRACT} of the contract", "contract")
        ((kind, config),) = fields.pop("strategy").items()
        request = Request(**fields.pop("request"))
        return Round(**fields, request=request, kind=kind, policies=tuple(_policies(kind, config)))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        if isinstance(error, NotARoundError):
            raise
        raise NotARoundError(f"is not as the contract has it: {error}") from None


# The types ignored below are those of JSON from outside: whatever is not as the contract has it raises here,
# and ``read`` refuses it.
def _policies(kind: str, config: object) -> Iterator[Policy]:
    for entry in config if kind == "stack" else [{kind: config}]:  # type: ignore[attr-defined]
        ((name, fields),) = entry.items()
        if name == "retry":
            yield Retry(**{**fields, "backoff": _backoff(fields["backoff"])})
        elif name == "circuit_breaker":
            yield _breaker(fields)
        elif name != "baseline":
            yield Other(name)


def _breaker(fields: dict[str, object]) -> CircuitBreaker:
    slow_call = fields["slow_call"] and SlowCall(**fields["slow_call"])  # type: ignore[arg-type]
    return CircuitBreaker(**{**fields, "slow_call": slow_call, "window": Window(**fields["window"])})  # type: ignore[arg-type]


def _backoff(named: object) -> Backoff:
    ((kind, fields),) = named.items()  # type: ignore[attr-defined]  # anything without items isn't a back-off
    if kind == "fixed":
        return Backoff(kind, fields["delay_us"])
    return Backoff(kind, **fields)
