"""Which rounds of a search are held: those that keep a limit, its own value included, or whose answer is yes."""

from __future__ import annotations

import math

import pytest

from patternbench.report.held_rounds import held
from patternbench.study.boundary import Boundary

BELOW = math.nextafter(0.2, 0.0)
ABOVE = math.nextafter(0.2, 1.0)


def search_of(of: str) -> Boundary:
    return Boundary.model_validate({"of": of, "over": "open.rate", "between": [1, 9], "until": {"half_width": 1}})


@pytest.mark.parametrize(
    ("of", "response", "value", "is_held"),
    [
        ("p95 <= 200ms", "p95", 0.2, True),
        ("p95 <= 200ms", "p95", BELOW, True),
        ("p95 <= 200ms", "p95", ABOVE, False),
        ("failure_rate <= 1 %", "failure_rate", 1.0, True),
        ("failure_rate <= 1 %", "failure_rate", 1.01, False),
        ("failure_rate <= 0", "failure_rate", 0.0, True),
        ("goodput >= 90", "goodput", 90.0, True),
        ("goodput >= 90", "goodput", 89.9, False),
        ("recovered", "recovered", 100.0, True),
        ("recovered", "recovered", 0.0, False),
    ],
)
def test_a_round_exactly_at_the_limit_is_held_and_one_beyond_it_is_lost(
    of: str, response: str, value: float, is_held: bool
) -> None:
    assert held(search_of(of), {response: value, "other": 7.0}) is is_held


@pytest.mark.parametrize("values", [{}, {"p95": math.nan}, {"p50": 0.1}])
def test_a_round_without_the_response_is_neither_held_nor_lost(values: dict[str, float]) -> None:
    assert held(search_of("p95 <= 200ms"), values) is None
