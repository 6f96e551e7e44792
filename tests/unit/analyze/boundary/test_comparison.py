"""The ratio of the doses that two configurations bear."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.boundary_searches import SEARCH, Truth, made

from patternbench.analyze.boundary.comparison import HIGHER, LOWER, Ratio, ratio
from patternbench.analyze.boundary.likelihood import HALF
from patternbench.analyze.statements.verdict import Conclusion, Verdict


def test_a_configuration_that_bears_more_is_said_to_by_as_much() -> None:
    of, to = made([Truth(50, 1), Truth(80, 1)], np.random.default_rng(1))
    found = ratio(of, to, SEARCH, HALF)
    assert found.at == pytest.approx(1.6, abs=0.12)
    assert found.verdict is Verdict.HIGHER and found.low is not None and found.low > 1.3
    assert found.concluded(HIGHER) is Conclusion.CONFIRMED
    back = ratio(to, of, SEARCH, HALF)
    assert back.verdict is Verdict.LOWER
    assert back.concluded(HIGHER) is Conclusion.CONTRADICTED
    assert back.at == pytest.approx(1 / found.at, rel=0.03)


def test_a_configuration_against_itself_shows_no_difference() -> None:
    (of,) = made([Truth(60, 3)], np.random.default_rng(2))
    found = ratio(of, of, SEARCH, HALF)
    assert found.at == pytest.approx(1, abs=0.01)
    assert found.verdict is Verdict.INCONCLUSIVE
    assert found.concluded(LOWER) is Conclusion.INCONCLUSIVE


def test_an_end_that_the_rounds_do_not_tell_decides_nothing() -> None:
    assert Ratio(2.0, None, None).verdict is Verdict.INCONCLUSIVE
    assert Ratio(2.0, 1.1, None).verdict is Verdict.HIGHER
    assert Ratio(0.5, None, 0.9).verdict is Verdict.LOWER


def test_rounds_of_blocks_that_one_was_not_in_do_not_count() -> None:
    of, to = made([Truth(50, 3), Truth(62, 3)], np.random.default_rng(3))
    both = min(len(of), len(to))
    assert ratio(of, to, SEARCH, HALF) == ratio(of[:both], to[:both], SEARCH, HALF)
    assert len(of) != len(to)


def test_more_comparisons_make_each_interval_wider() -> None:
    of, to = made([Truth(50, 3), Truth(62, 3)], np.random.default_rng(3))
    single, several = (ratio(of, to, SEARCH, HALF, comparisons) for comparisons in (1, 7))
    assert (several.low or 0) < (single.low or 0)
    assert (several.high or np.inf) > (single.high or 0)
