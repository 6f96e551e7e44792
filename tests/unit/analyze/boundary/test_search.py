"""Where the next round of a search goes, when its rounds are enough, and what they say."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.boundary_searches import SEARCH, Flat, Known, Truth, made

from patternbench.analyze.boundary.search import DoseTrial, Search, SearchOutcome, answer, next_dose

STEP = Truth(71, 0.01)
"""Every round above 71 is lost, none below."""


def searched(truth: Known, seed: int = 1, search: Search = SEARCH) -> list[DoseTrial]:
    return made([truth], np.random.default_rng(seed), search)[0]


def test_the_first_rounds_look_at_the_middle_and_at_both_ends() -> None:
    assert [one.dose for one in searched(STEP)[:3]] == [64, 100, 30]


def test_a_step_is_found_between_the_two_doses_on_either_side() -> None:
    tries = searched(STEP)
    found = answer(tries, SEARCH)
    assert found.found is SearchOutcome.LOCATED
    assert found.boundary is not None
    assert (found.boundary.low or 0) <= 71 <= (found.boundary.high or 0)
    assert len(tries) < 40, "it stops as soon as it is known well enough"
    later = [one.dose for one in tries[-5:]]
    assert min(later) > 60 and max(later) < 80, "the last rounds lie near it"


def test_where_all_rounds_are_held_a_few_more_at_the_top_end_it() -> None:
    tries = searched(Flat(0.0))
    assert [one.dose for one in tries] == [64, 100, 30, *[100.0] * 5]
    found = answer(tries, SEARCH)
    assert (found.found, found.over, found.last, found.boundary) == (SearchOutcome.ABOVE, True, 100, None)


def test_where_all_rounds_are_lost_a_few_more_at_the_bottom_end_it() -> None:
    tries = searched(Flat(1.0))
    assert [one.dose for one in tries] == [64, 100, 30, *[30.0] * 5]
    assert answer(tries, SEARCH).found is SearchOutcome.BELOW


def test_more_rounds_lost_at_low_doses_are_no_boundary() -> None:
    found = answer(searched(Truth(60, 3, falls=True)), SEARCH)
    assert (found.found, found.boundary, found.over) == (SearchOutcome.INVERTED, None, True)


def test_without_a_trend_nothing_is_located_in_all_rounds() -> None:
    tries = searched(Flat(0.5), seed=1)
    found = answer(tries, SEARCH)
    assert (found.found, found.boundary, len(tries)) == (SearchOutcome.FLAT, None, 40)


def test_a_dose_whose_rounds_never_count_is_left_for_the_next_one() -> None:
    tries: list[DoseTrial] = []
    while (dose := next_dose(tries, SEARCH)) is not None:
        tries.append(DoseTrial(dose, None if dose > 90 else True))
    found = answer(tries, SEARCH)
    assert found.found is SearchOutcome.ABOVE
    assert found.last == 90
    assert all(sum(one.dose == dose for one in tries) == 3 for dose in (92, 94, 96, 98, 100))


def test_a_search_in_which_no_round_counts_ends_at_the_most_and_says_so() -> None:
    tries: list[DoseTrial] = []
    while (dose := next_dose(tries, SEARCH)) is not None:
        tries.append(DoseTrial(dose, None))
    found = answer(tries, SEARCH)
    assert (found.found, found.over, len(tries)) == (SearchOutcome.UNKNOWN, True, 40)


def test_rounds_that_are_planned_and_not_over_count_among_the_most() -> None:
    tries = [DoseTrial(64.0, None, over=False)] * 40
    assert next_dose(tries, SEARCH) is None
    assert not answer(tries, SEARCH).over, "their outcome is still to come"


@given(st.lists(st.tuples(st.sampled_from(SEARCH.doses), st.sampled_from([True, False, None])), max_size=45))
def test_the_next_dose_is_one_of_the_grid_and_follows_from_the_rounds_alone(
    rounds: list[tuple[float, bool | None]],
) -> None:
    tries = [DoseTrial(*one) for one in rounds]
    dose = next_dose(tries, SEARCH)
    assert dose == next_dose(list(tries), SEARCH)
    assert dose is None or dose in SEARCH.doses
    said = answer(tries, SEARCH)
    assert (said.boundary is None) == (said.found not in (SearchOutcome.LOCATED, SearchOutcome.WIDE))
    assert said.rounds == sum(one.held is not None for one in tries)
    if said.boundary is not None:
        assert said.boundary.low is not None and said.boundary.high is not None
        assert 30 <= said.boundary.low <= said.boundary.at <= said.boundary.high <= 100


@pytest.mark.parametrize("seed", range(5))
def test_a_narrower_half_width_needs_more_rounds_and_is_kept(seed: int) -> None:
    rounds, truth = [], Truth(71, 3)
    for half_width in (8.0, 4.0):
        search = Search(SEARCH.doses, half_width, 200)
        tries = searched(truth, seed, search)
        edge = answer(tries, search).boundary
        assert edge is not None and edge.low is not None and edge.high is not None
        assert edge.high - edge.low <= 2 * half_width
        rounds.append(len(tries))
    assert all(fewer <= more for fewer, more in pairwise(rounds))
