"""A release gate: conditions on a comparison, which fail only if the intervals support it.

An exit code has no room for the condition that rounds scatter evenly (``statements.shown``), so the gate decides by the
intervals that hold where they don't, too. An inconclusive outcome also reports what the others would decide.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from patternbench.analyze.compare.comparison import Comparison, Difference, Interval
from patternbench.analyze.statements.verdict import Verdict
from patternbench.terms.data_problems import DataError, DataProblem, did_you_mean
from patternbench.terms.quantities import SECONDS, UNITS

_CONDITION = re.compile(r"^\s*`?([^`<>=]+?)`?\s*([<>])\s*([+-])\s*([0-9]+(?:\.[0-9]+)?)\s*(%|us|ms|s|m)?\s*$")
_EXAMPLE = "Write --fail-if 'p95 > +10%' (relative), 'p95 > +20ms' or 'goodput < -5%'."


@dataclass(frozen=True)
class Condition:
    """A change that must not happen: ``response`` changes by more than ``change`` (in percent if ``relative``)."""

    text: str
    response: str
    above: bool
    change: float
    relative: bool


@dataclass(frozen=True)
class GateVerdict:
    """The verdict on one condition: fail, pass or inconclusive, with the differences that decide it."""

    condition: Condition
    outcome: Verdict
    failing: tuple[Difference, ...]
    undecided: tuple[Difference, ...]
    checked: int


def parse_condition(text: str) -> Condition:
    """Parse ``p95 > +10%``, ``p95 > +20ms`` or ``goodput < -5%``; raises ``DataError`` with what to type."""
    match = _CONDITION.match(text)
    if match is None:
        raise DataError(DataProblem(f"'{text}' isn't a condition.", "--fail-if", _EXAMPLE))
    name, comparison, sign, amount, unit = match.groups()
    problem = _unit_problem(name, unit)
    if problem:
        raise DataError(DataProblem(f"'{text}': {problem}", "--fail-if", _EXAMPLE))
    scale = UNITS.get(unit or "", 1.0)
    value = float(amount) * scale * (1 if sign == "+" else -1)
    return Condition(text, name, comparison == ">", value, unit == "%")


def _unit_problem(name: str, unit: str | None) -> str:
    if name in SECONDS and unit is None:
        return f"{name} is a time, so the change needs a unit (us, ms, s, m) or %."
    if name not in SECONDS and unit in UNITS:
        return f"{name} is not a time, so the change has no unit {unit}."
    return ""


def judge(comparison: Comparison, conditions: Sequence[Condition]) -> tuple[GateVerdict, ...]:
    """Judge every condition over all scenarios of ``comparison``.

    A condition fails if the whole interval of any scenario is beyond the change. It passes if the whole intervals of
    all scenarios are short of it. Otherwise it is inconclusive, and more rounds would decide. The comparison's
    intervals must hold together (``statements.family.together``), or chance alone makes a gate over many scenarios
    fail. One run a side leaves it inconclusive: its intervals don't hold how far two runs of the same thing differ.
    """
    responses = {d.response for d in comparison.differences}
    wrong = [c for c in conditions if c.response not in responses]
    if wrong:
        problems = (
            DataProblem(f"{c.response} was not compared.", f"--fail-if '{c.text}'", did_you_mean(c.response, responses))
            for c in wrong
        )
        raise DataError(*problems)
    return tuple(_judge(condition, comparison) for condition in conditions)


def _judge(condition: Condition, comparison: Comparison) -> GateVerdict:
    of_it = [d for d in comparison.differences if d.response == condition.response]
    outcomes = [(d, Verdict.INCONCLUSIVE if comparison.two_runs else _outcome(d, condition)) for d in of_it]
    failing = tuple(d for d, outcome in outcomes if outcome is Verdict.FAIL)
    undecided = tuple(d for d, outcome in outcomes if outcome is Verdict.INCONCLUSIVE)
    overall = Verdict.FAIL if failing else Verdict.INCONCLUSIVE if undecided else Verdict.PASS
    return GateVerdict(condition, overall, failing, undecided, len(of_it))


def if_even(d: Difference, condition: Condition) -> Verdict:
    """Return what the gate would say of one difference if its rounds scatter evenly to both sides."""
    return _by(d.relative_interval if condition.relative else d.interval, condition)


def _outcome(d: Difference, condition: Condition) -> Verdict:
    return _by(d.firm_relative_interval if condition.relative else d.firm_interval, condition)


def _by(interval: Interval, condition: Condition) -> Verdict:
    if interval.low is None or interval.high is None:
        return Verdict.INCONCLUSIVE
    beyond = interval.low > condition.change if condition.above else interval.high < condition.change
    short = interval.high <= condition.change if condition.above else interval.low >= condition.change
    return Verdict.FAIL if beyond else Verdict.PASS if short else Verdict.INCONCLUSIVE


def rounds_to_decide(d: Difference, condition: Condition) -> int | None:
    """Estimate how many rounds per side would decide: an interval narrows with the root of the number of rounds."""
    interval = d.firm_relative_interval if condition.relative else d.firm_interval
    centre = d.relative if condition.relative else d.difference
    if interval.low is None or interval.high is None or centre is None:
        return None
    distance = abs(centre - condition.change)
    half = interval.high - centre if condition.change > centre else centre - interval.low
    if distance == 0 or not np.isfinite(half):
        return None
    return int(np.ceil(min(d.rounds) * (half / distance) ** 2))
