"""How often the intervals of a searched boundary hold the truth, and how often each word on it is wrong.

``python -m tests.support.boundary_searches 1000`` prints the whole table.
"""

from __future__ import annotations

import pytest
from tests.support.boundary_searches import RATIOS, TRUTHS, rates, ratios

from patternbench.analyze.boundary.likelihood import FEW, HALF
from patternbench.analyze.boundary.search import SearchOutcome

SEARCHES = 80
COVERS, CHANCE = 0.93, 0.075
"""What is promised, and three standard errors of a coverage over so many searches."""
INSIDE = [name for name in TRUTHS if "range" not in name and "flat" not in name and name != "inverted"]


@pytest.mark.slow
@pytest.mark.parametrize("name", INSIDE)
def test_the_interval_of_a_boundary_holds_it_in_93_of_100_searches(name: str) -> None:
    said = rates(TRUTHS[name], SEARCHES)
    assert said.covered >= COVERS - CHANCE
    assert said.found[SearchOutcome.LOCATED] + said.found[SearchOutcome.WIDE] >= 0.85
    assert said.found[SearchOutcome.INVERTED] <= 0.01
    assert said.told == 0 or said.safe >= COVERS - CHANCE


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("above the range", SearchOutcome.ABOVE),
        ("below the range", SearchOutcome.BELOW),
        ("inverted", SearchOutcome.INVERTED),
    ],
)
def test_a_boundary_that_is_not_there_is_named_by_its_word(name: str, word: SearchOutcome) -> None:
    said = rates(TRUTHS[name], SEARCHES)
    assert said.found[word] >= 0.95
    assert said.found[SearchOutcome.LOCATED] <= 0.02


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in TRUTHS if "flat" in name])
def test_without_a_boundary_none_is_located_in_95_of_100_searches(name: str) -> None:
    said = rates(TRUTHS[name], SEARCHES)
    assert said.found[SearchOutcome.LOCATED] + said.found[SearchOutcome.WIDE] <= 0.05 + 0.03


@pytest.mark.slow
@pytest.mark.parametrize("name", RATIOS)
@pytest.mark.parametrize("share", [HALF, FEW])
def test_the_interval_of_a_ratio_holds_it_and_equals_are_seldom_called_different(name: str, share: float) -> None:
    said = ratios(*RATIOS[name], SEARCHES, share)
    assert said["covered"] >= COVERS - CHANCE
    assert said["made"] >= 0.8
    if "equal" in name:
        assert said["differs"] <= 0.05 + CHANCE
