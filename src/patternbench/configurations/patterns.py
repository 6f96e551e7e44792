"""What a caller does about slow and failing calls, in the words of a study and independent of any product."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from patternbench.study.model.levels import Levels
from patternbench.study.model.parts import Model
from patternbench.study.model.tree import names_of
from patternbench.study.models import Strategy
from patternbench.study.workload.policies import REPEATING, Policy, StackedCircuitBreaker, StackedRetry
from patternbench.terms.units import Duration

REQUEST_TIMEOUT = "request.timeout"
"""The place of the longest time of an attempt, which is said with the request and not with the policies."""


@dataclass(frozen=True)
class Patterns:
    """Policies, the outermost first, of which each field has one level.

    ``attempt_timeout`` is how long an attempt may take at most, whatever the policies say; None where nothing bounds
    it. It is the time-out of the request, which every client of a study has.
    """

    stack: tuple[Policy, ...]
    attempt_timeout: Duration | None = None

    @property
    def kinds(self) -> tuple[str, ...]:
        """The names of the policies, in their order."""
        return tuple(policy.kind for policy in self.stack)

    @property
    def named(self) -> tuple[tuple[str, Policy], ...]:
        """The policies by names that tell them apart: ``timeout``, ``retry``, ``timeout_2``."""
        return tuple(zip(names_of(list(self.stack)), self.stack, strict=True))

    @property
    def order(self) -> str:
        """The names of the policies from the outside in: ``timeout > retry``."""
        return " > ".join(name for name, _ in self.named)

    def inside(self, name: str) -> tuple[str, ...]:
        """Return the kinds of the policies that a policy guards."""
        names = [one for one, _ in self.named]
        return self.kinds[names.index(name) + 1 :]

    def outside(self, name: str) -> tuple[str, ...]:
        """Return the kinds of the policies that guard a policy."""
        names = [one for one, _ in self.named]
        return self.kinds[: names.index(name)]

    def is_of_attempts(self, name: str) -> bool:
        """Whether a policy guards each attempt rather than a whole call: whether something repeats around it."""
        return any(kind in REPEATING for kind in self.outside(name))


def of_strategy(strategy: Strategy, attempt_timeout: Duration | None = None) -> Patterns:
    """Return the policies of a strategy whose fields have one level each.

    The strategies ``retry`` and ``circuit_breaker`` are stacks of one; a retry alone does not honour ``Retry-After``.
    """
    if strategy.stack is not None:
        return Patterns(tuple(strategy.stack), attempt_timeout)
    if strategy.retry is not None:
        alone = StackedRetry.model_validate(_parts(strategy.retry) | {"retry_after_max": Levels.one(Duration(0))})
        return Patterns((Policy(retry=alone),), attempt_timeout)
    if strategy.circuit_breaker is not None:
        breaker = StackedCircuitBreaker.model_validate(_parts(strategy.circuit_breaker))
        return Patterns((Policy(circuit_breaker=breaker),), attempt_timeout)
    return Patterns((), attempt_timeout)


def _parts(model: Model) -> dict[str, object]:
    return {name: getattr(model, name) for name in type(model).model_fields}


def fields(name: str, policy: Policy) -> Iterator[tuple[str, str]]:
    """Yield each field of a policy that is given, with its level as a study writes it."""
    yield from _fields(name, policy.chosen)


def part_of(part: str, name: str, policy: Policy) -> list[tuple[str, str]]:
    """Return the fields of one part of a policy, such as its ``backoff``."""
    return [(ours, value) for ours, value in fields(name, policy) if ours.startswith(f"{name}.{part}.")]


def _fields(path: str, value: object) -> Iterator[tuple[str, str]]:
    if isinstance(value, Levels):
        yield path, level_text(value.level)
    elif isinstance(value, Model):
        for name in type(value).model_fields:
            yield from _fields(f"{path}.{name}", getattr(value, name))
    elif isinstance(value, list):
        yield path, listed(value)


def level_text(level: object) -> str:
    """Write a level as a study does."""
    return str(level).lower() if isinstance(level, bool) else str(level)


def listed(values: Sequence[object]) -> str:
    """Write a list as a study does: ``[500-599, timeout]``."""
    return f"[{', '.join(map(str, values))}]"
