"""Patterns and their configurations: those of every client, and the policies that the load engine stacks.

A stack is a list, outermost first: a policy guards all that come after it. A timeout before a retry bounds all
attempts together, after it each of them.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from patternbench.study.model.levels import Levels
from patternbench.study.model.parts import Count, Model, Multiplier, OneOf, Share
from patternbench.terms.units import Duration, Number, PositiveDuration, PositivePercentage

Million = Annotated[int, Field(ge=1, le=1_000_000)]
UpToAMillion = Annotated[int, Field(ge=0, le=1_000_000)]
Attempts = Annotated[int, Field(ge=1, le=1000)]
Scope = Literal["client", "user"]
StatusRange = Annotated[int, Field(ge=100, le=999)] | Annotated[str, Field(pattern=r"^[1-9][0-9]{2}-[1-9][0-9]{2}$")]
Failure = Literal["timeout", "connection_error", "expectation_failed"] | StatusRange
LONGEST_RETRY_AFTER = Duration.parse("1m")
MOST_ATTEMPTS = 10_000
"""The product of the attempts of all policies of a stack, at most."""


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

    @property
    def first(self) -> Levels[Duration]:
        """The delay before the second attempt."""
        grown = self.linear or self.exponential
        return grown.initial if grown else self.fixed.delay  # type: ignore[union-attr]  # exactly one is given


class Baseline(Model):
    """No pattern: a failed call stays failed."""


class Retry(Model):
    """Try again, up to ``max_attempts`` attempts, the first included."""

    max_attempts: Levels[Attempts]
    backoff: Backoff
    jitter: Levels[Literal["none", "full", "equal"] | Share] = Levels.one("none")


class Window(OneOf):
    """The results that decide a circuit breaker: those of the last calls, or those within a time."""

    calls: Levels[Million] | None = None
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
    half_open_calls: Levels[Million]
    scope: Levels[Scope] = Levels.one("client")


class StackedRetry(Retry):
    """A retry of chosen failures that honours ``Retry-After`` up to a longest wait (0ms: not at all)."""

    on: Annotated[list[Failure], Field(min_length=1)] | None = None
    retry_after_max: Levels[Duration] = Levels.one(LONGEST_RETRY_AFTER)

    def omits(self, name: str) -> bool:
        """Without ``on`` every failure is tried again."""
        return name == "on" and self.on is None


class StackedCircuitBreaker(CircuitBreaker):
    """A circuit breaker that may choose which failures count; it takes other failures for successes."""

    on: Annotated[list[Failure], Field(min_length=1)] | None = None

    def omits(self, name: str) -> bool:
        """Without ``on`` every failure counts."""
        return name == "on" and self.on is None


class RetryBudget(Model):
    """Let further attempts through only while there are tokens; first attempts and time add tokens."""

    ratio: Levels[Annotated[Number, Field(ge=0, le=1000)]]
    min_per_s: Levels[UpToAMillion] = Levels.one(0)
    capacity: Levels[Million]
    scope: Levels[Scope] = Levels.one("client")


class Bulkhead(Model):
    """Admit a number of concurrent calls; further ones may wait, up to a number, first in, first out."""

    max_concurrent: Levels[Million]
    max_waiting: Levels[UpToAMillion] = Levels.one(0)
    max_wait: Levels[PositiveDuration] | None = None
    scope: Levels[Scope] = Levels.one("client")

    def omits(self, name: str) -> bool:
        """Without ``max_wait`` what waits does so for as long as it takes."""
        return name == "max_wait" and self.max_wait is None


class Hedge(Model):
    """Send another attempt when none has ended well for ``delay``; the first good answer ends the call."""

    delay: Levels[Duration]
    max_attempts: Levels[Attempts] = Levels.one(2)


class RateLimit(Model):
    """Let ``calls`` out per ``per``, ``burst`` at once; reject a call that would wait longer than ``max_wait``."""

    calls: Levels[Million]
    per: Levels[PositiveDuration]
    burst: Levels[Million] = Levels.one(1)
    max_wait: Levels[Duration] = Levels.one(Duration(0))
    scope: Levels[Scope] = Levels.one("client")


class Policy(OneOf):
    """One policy of a stack."""

    timeout: Levels[PositiveDuration] | None = None
    deadline: Levels[PositiveDuration] | None = None
    retry: StackedRetry | None = None
    retry_budget: RetryBudget | None = None
    circuit_breaker: StackedCircuitBreaker | None = None
    bulkhead: Bulkhead | None = None
    hedge: Hedge | None = None
    rate_limit: RateLimit | None = None

    @property
    def attempts(self) -> int:
        """How many attempts it makes at most of one that enters it, at its highest level."""
        several = self.retry or self.hedge
        return max(several.max_attempts) if several else 1


POLICIES = tuple(Policy.model_fields)
"""The names of the policies there are."""
REPEATING = ("retry", "hedge")


class Stack(Model):
    """Policies in their order, outermost first; in a file of its own a list alone, or under ``stack``."""

    stack: Annotated[list[Policy], Field(min_length=1, max_length=100)]

    @model_validator(mode="after")
    def _makes_sense(self) -> Stack:
        check_stack(self.stack)
        return self


def check_stack(stack: list[Policy]) -> None:
    """Raise the error for a stack in whose order some policy could never act, or which never ends."""
    kinds = [policy.kind for policy in stack]
    for index, kind in enumerate(kinds):
        if kind == "retry_budget" and not any(before in REPEATING for before in kinds[:index]):
            raise _unfit(f"entry {index + 1}, retry_budget, guards no further attempts", "a retry or hedge before it")
        if kind == "deadline" and kind in kinds[:index]:
            raise _unfit(f"entry {index + 1} is a second deadline", "one deadline; the shorter of two would decide")
        if index and stack[index - 1] == stack[index]:
            raise _unfit(f"entry {index + 1} is the same as the one before it", "each policy once in a row")
    _check_attempts(stack)


def _check_attempts(stack: list[Policy]) -> None:
    most = 1
    for policy in stack:
        most *= policy.attempts
    if most > MOST_ATTEMPTS:
        raise _unfit(f"makes up to {most:,} attempts of one call", f"max_attempts that multiply to {MOST_ATTEMPTS:,}")


def _unfit(message: str, allowed: str) -> PydanticCustomError:
    context: dict[str, object] = {"found": message, "allowed": allowed}
    return PydanticCustomError("stack", "{found}", context)
