"""The limits of a client's library from its ``client.yaml``, known without starting the client.

The client itself decides (``POST /check``). The limits here are those that a plan can check before it is started.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from patternbench.study.model.parts import Model, OneOf, Setting
from patternbench.study.model.tree import leaves, plain
from patternbench.study.models import Strategy
from patternbench.terms.problems import Problem
from patternbench.terms.units import Duration, PositiveDuration

STRATEGY = "strategy"
"""How paths begin that lie in a scenario's strategy; which of the study's it is, its plan knows."""


class UnsupportedValues(Model):
    """Values that the library does not have, and what it has instead."""

    values: Annotated[list[Setting], Field(min_length=1)]
    allowed: str


class LibraryLimit(OneOf):
    """A limit of a library on fields of a strategy, such as ``retry.jitter``, and why it is there."""

    fields: Annotated[list[str], Field(min_length=1)]
    why: str
    refuses: UnsupportedValues | None = None
    multiple_of: PositiveDuration | None = None

    @classmethod
    def choices(cls) -> list[str]:
        """Return the kinds of limit."""
        return ["refuses", "multiple_of"]

    def allowed(self, value: object) -> str | None:
        """Return the allowed values instead of a value; None for a value that the library can express."""
        if self.refuses:
            return self.refuses.allowed if value in self.refuses.values else None
        unit = self.multiple_of
        if unit is None or not isinstance(value, Duration) or value.us % unit.us == 0:
            return None
        return f"a multiple of {unit}, for instance {Duration((value.us // unit.us + 1) * unit.us)}"


def problems(client: str, limits: tuple[LibraryLimit, ...], strategy: Strategy) -> Iterator[Problem]:
    """Yield the parts of a scenario's strategy that a client's library can't express. Paths begin with ``strategy``."""
    for prefix, values in _patterns(strategy):
        for limit in limits:
            for name in limit.fields:
                value = values.get(name)
                allowed = limit.allowed(value)
                if allowed is not None:
                    message = f"client {client}: {limit.why}"
                    yield Problem(message, f"{prefix}.{name}", value=plain(value), allowed=allowed)


def contradictions(strategy: Strategy) -> Iterator[Problem]:
    """Contradictions in a strategy. They are found before a client is asked, because clients only get valid rounds."""
    for prefix, values in _patterns(strategy):
        calls, least = (values.get(f"circuit_breaker.{name}") for name in ("window.calls", "minimum_calls"))
        if isinstance(calls, int) and isinstance(least, int) and least > calls:
            message = f"a window of {calls} calls never holds {least}"
            yield Problem(message, f"{prefix}.circuit_breaker.minimum_calls", value=least, allowed=f"at most {calls}")


def _patterns(strategy: Strategy) -> Iterator[tuple[str, dict[str, object]]]:
    """Yield the values of a strategy's pattern, or of each policy of its stack, by path; and where they stand."""
    if not strategy.stack:
        yield STRATEGY, _values(strategy.chosen, strategy.kind)
    for number, policy in enumerate(strategy.stack or []):
        yield f"{STRATEGY}.stack[{number}]", _values(policy.chosen, policy.kind)


def _values(chosen: object, kind: str) -> dict[str, object]:
    return {".".join(path): value for path, value in leaves(chosen, (kind,))}
