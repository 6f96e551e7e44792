"""Objectives of a recommendation, and limits that a configuration must keep, as texts and as values."""

from __future__ import annotations

import re
from dataclasses import dataclass

from patternbench.terms.data_problems import DataError, DataProblem
from patternbench.terms.quantities import SECONDS, UNITS

_OBJECTIVE = re.compile(r"^\s*(minimi[sz]e|maximi[sz]e|min|max)\s+`?([^`]+?)`?\s*$", re.IGNORECASE)
_LIMIT = re.compile(r"^\s*`?([^`<>=]+?)`?\s*(<=|>=|<|>)\s*(-?[0-9]+(?:\.[0-9]+)?)\s*(%|us|ms|s|m)?\s*$")


@dataclass(frozen=True)
class Objective:
    """An objective: a response, and whether less of it is better."""

    response: str
    minimise: bool

    @property
    def words(self) -> str:
        """Say the objective."""
        return f"{'minimise' if self.minimise else 'maximise'} {self.response}"


@dataclass(frozen=True)
class Constraint:
    """A limit: ``response`` must be at most (or at least) ``bound``, in its own unit."""

    text: str
    response: str
    at_most: bool
    bound: float


def parse_objective(text: str) -> Objective:
    """Parse ``minimise p95`` or ``maximise goodput``; raises ``DataError`` with what to type."""
    match = _OBJECTIVE.match(text)
    if match is None:
        raise DataError(
            DataProblem(f"'{text}' isn't an objective.", "--objective", "Write 'minimise p95' or 'maximise goodput'.")
        )
    return Objective(match.group(2), match.group(1).lower().startswith("min"))


def parse_limit(text: str) -> Constraint:
    """Parse ``failure_rate <= 1%`` or ``p99 < 200ms``; raises ``DataError`` with what to type."""
    match = _LIMIT.match(text)
    if match is None:
        raise DataError(
            DataProblem(f"'{text}' isn't a limit.", "--subject-to", "Write 'failure_rate <= 1%' or 'p99 <= 200ms'.")
        )
    response, sign, amount, unit = match.groups()
    if response in SECONDS and unit not in UNITS:
        remedy = f"Write '{response} {sign} {amount}ms' or '{amount}s'."
        raise DataError(DataProblem(f"'{text}': {response} is a time and needs a unit.", "--subject-to", remedy))
    if response not in SECONDS and unit in UNITS:
        raise DataError(DataProblem(f"'{text}': {response} isn't a time.", "--subject-to", f"Leave out {unit}."))
    return Constraint(text, response, sign.startswith("<"), float(amount) * UNITS.get(unit or "", 1.0))
