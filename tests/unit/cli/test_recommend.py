"""What ``recommend`` prints of a choice."""

from __future__ import annotations

import io

import pandas as pd
from rich.console import Console
from tests.support.factors import table_of

from patternbench.analyze.recommend.recommendation import Criteria, recommend
from patternbench.cli.recommend import print_recommendation

FRONT = pd.DataFrame(
    [
        (strategy, p95 + noise, failures + noise)
        for strategy, p95, failures in (("fast", 0.1, 9.0), ("safe", 0.3, 0.5), ("poor", 0.4, 12.0))
        for noise in (0.0, 0.001, 0.002)
    ],
    columns=["strategy", "p95", "failure_rate"],
)


def test_the_others_on_the_front_are_counted_without_the_one_that_is_chosen() -> None:
    factors = table_of({"strategy": ["fast", "safe", "poor"]})
    found = recommend(FRONT, Criteria(("minimise p95", "minimise failure_rate"), factors=factors, conditions=()))
    (choice,) = found.choices
    assert sum(one.on_front for one in choice.candidates) == 2
    printed = io.StringIO()
    print_recommendation(found, Console(file=printed, width=200))
    assert "also on the Pareto front: 1 (" in printed.getvalue()
