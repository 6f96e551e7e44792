"""Factors for tests that make runs of their own: what a study would say of them, by the names that tests use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from patternbench.plan.factors import Factor, FactorField, factor_of
from patternbench.report.sections.criteria import known_of
from patternbench.study.model.meaning import Meaning
from patternbench.terms.factors import FactorTable
from patternbench.terms.roles import Role, Unit

MEANINGS: Mapping[str, Meaning] = {
    "users": Meaning(Role.LOAD, Unit.COUNT),
    "rate": Meaning(Role.LOAD, Unit.RATE),
    "client": Meaning(Role.CLIENT, Unit.TEXT),
    "lib": Meaning(Role.CLIENT, Unit.TEXT),
    "fault": Meaning(Role.FAULT, None),
    "abort.percentage": Meaning(Role.FAULT, Unit.PERCENT),
    "faults.abort.percentage": Meaning(Role.FAULT, Unit.PERCENT),
    "faults.delay.duration": Meaning(Role.FAULT, Unit.DURATION),
    "delay.duration": Meaning(Role.FAULT, Unit.DURATION),
    "strategy": Meaning(Role.PATTERN, Unit.TEXT),
    "method": Meaning(Role.PATTERN, Unit.TEXT),
    "tries": Meaning(Role.PATTERN, Unit.COUNT),
    "retry.delay": Meaning(Role.PATTERN, Unit.DURATION),
    "retry.max_attempts": Meaning(Role.PATTERN, Unit.COUNT),
    "retry.backoff.exponential.initial": Meaning(Role.PATTERN, Unit.DURATION),
    "circuit_breaker.open_for": Meaning(Role.PATTERN, Unit.DURATION),
}
"""What is not here is a circumstance, measured in what its levels are written in."""


def factors(
    levels: Mapping[str, Sequence[Any]], none: Mapping[str, Any] | None = None, patterns: Sequence[str] = ()
) -> dict[str, Factor]:
    """Factors with these levels; ``none`` has levels at which patterns are none, ``patterns`` names more patterns."""
    nones = {"strategy": "baseline", **(none or {})}

    def meaning(name: str) -> Meaning:
        return Meaning(Role.PATTERN, None) if name in patterns else MEANINGS.get(name, Meaning(Role.WORLD, None))

    known = {name: FactorField(tuple(name.split(".")), meaning(name), nones.get(name)) for name in levels}
    return {name: factor_of(name, found, known[name]) for name, found in levels.items()}


def table_of(levels: Mapping[str, Sequence[Any]], **more: Any) -> FactorTable:
    """The same as analyses know them."""
    return known_of(factors(levels, **more))
