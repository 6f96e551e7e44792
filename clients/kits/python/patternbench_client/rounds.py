"""One round, as the contract describes it; times in microseconds.

patternbench sends valid rounds. What does not fit these classes belongs to another version of the contract.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

CONTRACT = 1


class NotARoundError(ValueError):
    """The body is none of this version's rounds; ``path`` is where, the message why."""

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
    """Tries again after a failure; ``max_attempts`` include the first. ``jitter`` is a name, or a share."""

    max_attempts: int
    backoff: Backoff
    jitter: str | float


@dataclass(frozen=True)
class Round:
    """What each of the virtual users does, and for how long; ``kind`` is its strategy's, ``retry`` None without one."""

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
    retry: Retry | None


def read(body: bytes) -> Round:
    """The round of a request's body; raises NotARoundError."""
    try:
        fields = json.loads(body)
        if not isinstance(fields, dict) or fields.get("contract") != CONTRACT:
            raise NotARoundError(f"is not a round of version {CONTRACT} of the contract", "contract")
        ((kind, config),) = fields.pop("strategy").items()
        request = Request(**fields.pop("request"))
        return Round(**fields, request=request, kind=kind, retry=_retry(kind, config))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        if isinstance(error, NotARoundError):
            raise
        raise NotARoundError(f"is not as the contract has it: {error}") from None


def _retry(kind: str, config: dict[str, object]) -> Retry | None:
    return Retry(**{**config, "backoff": _backoff(config["backoff"])}) if kind == "retry" else None  # type: ignore[arg-type]


def _backoff(named: object) -> Backoff:
    ((kind, fields),) = named.items()  # type: ignore[attr-defined]  # whatever else it is, is no back-off
    if kind == "fixed":
        return Backoff(kind, fields["delay_us"])
    return Backoff(kind, **fields)
