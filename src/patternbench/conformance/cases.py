"""The shared vectors of the client contract (``contracts/client/vectors``), and what a client says of itself."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from patternbench.lab import shipped

VECTORS = shipped.folder("contracts") / "client" / "vectors"
StrategyName = Literal["baseline", "retry", "circuit_breaker", "stack"]


class ContractPart(BaseModel):
    """A model with exactly its fields, each of its own type."""

    model_config = ConfigDict(extra="forbid", strict=True)


class BusyAnswer(ContractPart):
    """A client's answer to a second round."""

    error: str


class StatedProblem(ContractPart):
    """A part of a round that a client can't express."""

    path: str
    value: object
    message: str
    allowed: object


class StatedProblems(ContractPart):
    """A client's answer with the parts that it can't express."""

    problems: list[object]


class Library(ContractPart):
    """The library that a client measures."""

    name: str
    version: str


class ClientDescription(ContractPart):
    """The answer to ``GET /client``."""

    contract: Literal[1]
    name: str = Field(pattern="^[a-z][a-z0-9_-]*$")
    version: str
    language: str
    library: Library
    strategies: list[StrategyName] = Field(min_length=1)


class SlowCalls(ContractPart):
    """From which share on (in percent) slow calls open a breaker, and how long a slow call takes."""

    rate: int | float
    duration_us: int


class BreakerWindow(ContractPart):
    """The results that decide a breaker: the last ones, or those within a time."""

    calls: int | None = None
    time_us: int | None = None


class BreakerConfig(ContractPart):
    """The ``circuit_breaker`` object of a round."""

    failure_rate: int | float
    slow_call: SlowCalls | None = None
    window: BreakerWindow
    minimum_calls: int
    open_for_us: int
    half_open_calls: int
    scope: Literal["client", "user"] = "client"

    def as_json(self) -> dict[str, JsonValue]:
        """Return the object as a round holds it."""
        return self.model_dump(exclude_unset=True)


class BreakerStep(ContractPart):
    """A call at a moment, how it would end, and whether the breaker lets it through."""

    at_us: int
    duration_us: int
    success: bool
    admitted: bool


class BreakerCase(ContractPart):
    """Calls one after another, and a breaker that admits or rejects them."""

    name: str
    circuit_breaker: BreakerConfig
    steps: list[BreakerStep]


class BackoffCase(ContractPart):
    """A back-off, and the delays before attempts 2, 3, ..."""

    name: str
    backoff: dict[str, JsonValue]
    delays_us: list[int]


class _BreakerVectors(BaseModel):
    cases: list[BreakerCase]


class _BackoffVectors(BaseModel):
    cases: list[BackoffCase]


def breaker_cases() -> list[BreakerCase]:
    """Return the cases of ``breaker.json``."""
    return _BreakerVectors.model_validate_json((VECTORS / "breaker.json").read_bytes()).cases


def backoff_cases() -> list[BackoffCase]:
    """Return the cases of ``backoff.json``."""
    return _BackoffVectors.model_validate_json((VECTORS / "backoff.json").read_bytes()).cases
