"""The page's table of worst cases is what the simulation gives, and what is said without a condition keeps 5 %."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.support import noises, worst_cases

from patternbench.analyze.statements.estimate import paired

pytestmark = pytest.mark.slow
PAGE = (Path(__file__).parents[4] / "docs" / "analysis.md").read_text(encoding="utf-8")


def bound(runs: int) -> float:
    """The most that a simulated rate of 5 % may show: three standard errors above."""
    return float(0.05 + 3 * np.sqrt(0.0475 / runs))


def test_the_page_shows_the_worst_case_of_each_word_as_simulated() -> None:
    start, end = f"<!-- {worst_cases.PART} -->\n", f"\n<!-- end of {worst_cases.PART} -->"
    assert PAGE.split(start)[1].split(end)[0] == "\n".join(worst_cases.lines())


@pytest.mark.parametrize("row", [row for row in worst_cases.ROWS if "scatter evenly" not in row])
def test_a_word_without_a_condition_is_wrong_in_5_percent_at_most_under_its_worst_noise(row: str) -> None:
    runs = 1000 if "three conditions" in row else worst_cases.RUNS
    assert worst_cases.worst(row)[0] <= bound(runs)


@pytest.mark.parametrize("rounds", [6, 10, 30])
def test_sides_that_both_lost_their_slowest_rounds_are_distinguished_in_5_percent_at_most(rounds: int) -> None:
    stated, runs = 0, 2000
    for logs in noises.slowest_lost(np.random.default_rng(rounds), (runs, rounds, 2)):
        both = logs[np.isfinite(logs).all(axis=1)]
        stated += len(both) > 1 and paired(both[:, 0], both[:, 1]).firm_p <= 0.05
    assert stated / runs <= bound(runs)
