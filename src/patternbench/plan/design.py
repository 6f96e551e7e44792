"""Which combinations of levels are run.

``exclude`` leaves combinations out, ``zip`` moves levels together, ``faults`` lets one fault act at a time, and a
fraction or a Latin hypercube samples combinations.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from patternbench.plan import fraction
from patternbench.plan.factors import Factors, Level
from patternbench.plan.scenarios import Scenario
from patternbench.study.models import Design
from patternbench.terms.problems import InputError, Problem, did_you_mean
from patternbench.terms.units import Duration

SMALLEST_ZIP = 2


def select(scenarios: list[Scenario], factors: Factors, design: Design, seed: int = 1) -> list[Scenario]:
    """Return the scenarios that the design keeps, in their order. Raises InputError listing the design's problems."""
    problems = [
        *fraction.problems(design),
        *_zip_problems(design.zip, factors),
        *_exclude_problems(design.exclude, factors),
    ]
    if problems:
        raise InputError(problems)
    tests = [_moves_together(group, factors) for group in design.zip]
    tests += [_not_excluded(rule) for rule in design.exclude]
    chosen = fraction.reduced([scenario.levels for scenario in scenarios], factors, design, seed)
    pairs = zip(scenarios, chosen, strict=True)
    possible = (scenario for scenario, keep in pairs if keep and all(test(scenario.levels) for test in tests))
    kept = [scenario for scenario in possible if design.faults == "together" or _at_most_one_fault(scenario)]
    if not kept:
        raise InputError(Problem("leaves no scenario to run", path="design"))
    return kept


def _at_most_one_fault(scenario: Scenario) -> bool:
    return sum(fault.acts for fault in scenario.faults) <= 1


def _moves_together(group: list[str], factors: Factors) -> Callable[[dict[str, Level]], bool]:
    def test(levels: dict[str, Level]) -> bool:
        places = {factors[name].levels.index(levels[name]) for name in group if name in levels}
        return len(places) <= 1

    return test


def _not_excluded(rule: dict[str, object]) -> Callable[[dict[str, Level]], bool]:
    expected = {name: _levels(value) for name, value in rule.items()}
    return lambda levels: not all(name in levels and levels[name] in allowed for name, allowed in expected.items())


def _levels(value: object) -> list[Level]:
    return [_canonical(level) for level in (value if isinstance(value, list) else [value])]


def _canonical(level: object) -> Level:
    """Return a duration in its normal form, as in levels; any other value unchanged."""
    if not isinstance(level, str):
        return cast(Level, level)  # it can't be a level, equals none, and is reported as unknown
    try:
        return str(Duration.parse(level))
    except ValueError:
        return level


def _zip_problems(groups: list[list[str]], factors: Factors) -> list[Problem]:
    problems: list[Problem] = []
    seen: set[str] = set()
    for index, group in enumerate(groups):
        path = f"design.zip[{index}]"
        problems += _unknown(group, factors, path)
        if len(group) < SMALLEST_ZIP:
            problems.append(Problem("needs two factors at least", path=path, value=group, allowed=", ".join(factors)))
        for name in group:
            if name in seen:
                problems.append(Problem(f"`{name}` is zipped twice (a cycle)", path=path, allowed="each factor once"))
            seen.add(name)
        counts = {name: len(factors[name].levels) for name in group if name in factors}
        if len(set(counts.values())) > 1:
            text = ", ".join(f"{name} has {number}" for name, number in counts.items())
            problems.append(Problem(f"levels cannot move together: {text}", path=path, allowed="as many levels each"))
    return problems


def _exclude_problems(rules: list[dict[str, object]], factors: Factors) -> list[Problem]:
    problems: list[Problem] = []
    for index, rule in enumerate(rules):
        path = f"design.exclude[{index}]"
        if not rule:
            problems.append(Problem("is empty", path=path, allowed="factor: level, or factor: [levels]"))
        problems += _unknown(list(rule), factors, path)
        for name, value in rule.items():
            wrong = [level for level in _levels(value) if name in factors and level not in factors[name].levels]
            if wrong:
                allowed = ", ".join(str(level) for level in factors[name].levels)
                problems.append(Problem("isn't a level of it", path=f"{path}.{name}", value=wrong[0], allowed=allowed))
    return problems


def _unknown(names: list[str], factors: Factors, path: str) -> list[Problem]:
    allowed = ", ".join(factors)
    wrong = [name for name in names if name not in factors]
    return [Problem(f"`{n}` isn't a factor", path=path, allowed=allowed, hint=did_you_mean(n, factors)) for n in wrong]
