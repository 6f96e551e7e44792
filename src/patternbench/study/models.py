"""The study file, version 1: what a user declares, as pydantic models.

Any scalar typed ``Levels[...]`` may hold a list; it is then a factor. Fields stand in the order of expansion
(the first varies slowest): system, faults, workload, strategies, as in Algorithm 1 of Aderaldo et al. (2024).
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from patternbench.study.levels import Levels
from patternbench.study.parts import Count, Model, Multiplier, Name, OneOf, Setting, Share, Status, misplaced
from patternbench.study.units import Duration, Percentage, PositiveDuration, PositivePercentage
from patternbench.study.workloads import Workload


class System(OneOf):
    """The system under test: one that the lab brings up by name, or one that already runs at a URL."""

    name: Name | None = None
    url: Annotated[str, Field(pattern=r"^https?://[^\s/]+", max_length=2000)] | None = None
    settings: dict[str, Levels[Setting]] = Field(default_factory=dict)
    ready: Annotated[str, Field(pattern=r"^/")] = "/"
    headers: dict[str, str] = Field(default_factory=dict)

    @classmethod
    def choices(cls) -> list[str]:
        """A system is named or has a URL."""
        return ["name", "url"]

    @model_validator(mode="before")
    @classmethod
    def _from_name(cls, value: Any) -> Any:
        return {"name": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _fitting_fields(self) -> System:
        unfit = {"settings"} if self.url else {"ready", "headers"}
        for name in sorted(unfit & self.model_fields_set):
            raise misplaced(name, "a system that already runs (url)" if self.url else "a system by name")
        return self


class Abort(Model):
    """Answer a share of the requests with an error status instead of passing them on."""

    percentage: Levels[Percentage]
    status: Levels[Status] = Levels.one(503)


class Delay(Model):
    """Hold a share of the requests back before passing them on."""

    percentage: Levels[Percentage]
    duration: Levels[PositiveDuration]


class Fault(OneOf):
    """One fault that is injected in front of the system; all entries of the list act together."""

    abort: Abort | None = None
    delay: Delay | None = None


class Fixed(Model):
    """The same delay before every further attempt."""

    delay: Levels[Duration]


class Linear(Model):
    """A delay that grows by the same increment."""

    initial: Levels[Duration]
    increment: Levels[Duration]
    max: Levels[PositiveDuration] | None = None


class Exponential(Model):
    """A delay that is multiplied each time; the delay before the second attempt is ``initial``."""

    initial: Levels[Duration]
    multiplier: Levels[Multiplier] = Levels.one(2)
    max: Levels[PositiveDuration] | None = None


class Backoff(OneOf):
    """How long to wait before each further attempt."""

    fixed: Fixed | None = None
    linear: Linear | None = None
    exponential: Exponential | None = None


class Baseline(Model):
    """No pattern: a failed call stays failed."""


class Retry(Model):
    """Try again, up to ``max_attempts`` attempts, the first included."""

    max_attempts: Levels[Annotated[int, Field(ge=1, le=1000)]]
    backoff: Backoff
    jitter: Levels[Literal["none", "full", "equal"] | Share] = Levels.one("none")


class Window(OneOf):
    """The results that a circuit breaker judges by: the last so many calls, or those of the last so long."""

    calls: Levels[Annotated[int, Field(ge=1, le=1_000_000)]] | None = None
    time: Levels[PositiveDuration] | None = None


class SlowCall(Model):
    """Calls slower than ``duration`` open the breaker too, once their share reaches ``rate``."""

    rate: Levels[PositivePercentage]
    duration: Levels[PositiveDuration]


class CircuitBreaker(Model):
    """Reject calls at once while the target keeps failing."""

    failure_rate: Levels[PositivePercentage]
    slow_call: SlowCall | None = None
    window: Window
    minimum_calls: Levels[Count]
    open_for: Levels[PositiveDuration]
    half_open_calls: Levels[Annotated[int, Field(ge=1, le=1_000_000)]]
    scope: Levels[Literal["client", "user"]] = Levels.one("client")


class Strategy(OneOf):
    """A client and the pattern that it uses."""

    client: Levels[Name]
    baseline: Baseline | None = None
    retry: Retry | None = None
    circuit_breaker: CircuitBreaker | None = None

    @classmethod
    def choices(cls) -> list[str]:
        """The strategies there are."""
        return ["baseline", "retry", "circuit_breaker"]


class ClientAt(OneOf):
    """Where a client of the user's own is found: it already runs, or a command starts it."""

    url: Annotated[str, Field(pattern=r"^http://[^\s/]+")] | None = None
    command: Annotated[list[str], Field(min_length=1)] | None = None


class Objective(Model):
    """What counts as good: a successful call slower than this is throughput, but no goodput."""

    response_time: PositiveDuration


class Design(Model):
    """Which combinations of levels are run."""

    exclude: list[dict[str, Any]] = Field(default_factory=list)
    zip: list[list[str]] = Field(default_factory=list)


class Study(Model):
    """A whole study file."""

    patternbench: Literal[1]
    name: Name
    description: str = ""
    system: System
    faults: list[Fault] = Field(default_factory=list)
    workload: Workload
    strategies: Annotated[list[Strategy], Field(min_length=1)]
    rounds: Annotated[int, Field(ge=1, le=10_000)] = 10
    seed: Annotated[int, Field(ge=0, le=2**53)] = 1
    order: Literal["shuffled", "declared"] = "shuffled"
    time_limit: PositiveDuration = Duration.parse("2m")
    warm_up: Duration = Duration.parse("2s")
    objective: Objective | None = None
    design: Design = Design()
    clients: dict[str, ClientAt] = Field(default_factory=dict)


__all__ = ["ClientAt", "Model", "Name", "OneOf", "Setting", "Strategy", "Study", "Workload"]
