"""What a search says in words."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.boundary_searches import SEARCH, Flat, Known, Truth, made

from patternbench.analyze.boundary.search import Bound, SearchAnswer, SearchOutcome, answer
from patternbench.analyze.boundary.words import Wording, boundary_in_words, safe_in_words

WORDS = Wording(lambda dose: f"{dose:.0f} %", "recover", "do not recover", "none recovers")


def said(truth: Known, seed: int = 1) -> str:
    return boundary_in_words(answer(made([truth], np.random.default_rng(seed))[0], SEARCH), WORDS)


def test_a_located_boundary_has_its_interval() -> None:
    assert said(Truth(71, 0.01)).startswith("71 % [6")


@pytest.mark.parametrize(
    ("truth", "text"),
    [
        (Flat(0.0), "not located in 8 rounds; all recover up to 100 %"),
        (Flat(1.0), "not located in 8 rounds; none recovers from 30 % on"),
        (Truth(60, 3, falls=True), "not located in 40 rounds; more of them do not recover at low doses than at high"),
        (Flat(0.5), "of them do not recover, at whatever dose as far as they tell"),
    ],
)
def test_a_boundary_that_was_not_located_is_words_and_no_number(truth: Known, text: str) -> None:
    assert text in said(truth)
    assert "[" not in said(truth)


def test_rounds_lost_at_the_top_are_counted_there() -> None:
    found = SearchAnswer(SearchOutcome.ABOVE, True, 40, 9, 30, 96, (3, 0), (12, 5))
    assert boundary_in_words(found, WORDS) == "not located in 40 rounds; at 96 % 5 of 12 do not recover"


def test_a_safe_dose_that_may_lie_below_all_doses_is_not_told() -> None:
    edge = Bound(71, 66, 75)
    found = SearchAnswer(SearchOutcome.LOCATED, True, 30, 12, 30, 100, boundary=edge, safe=Bound(40, None, 62))
    assert safe_in_words(found, WORDS) == "not located, at most 62 %"
    found = SearchAnswer(SearchOutcome.LOCATED, True, 30, 12, 30, 100, boundary=edge, safe=Bound(60, 45, 66))
    assert safe_in_words(found, WORDS) == "60 % [45 %, 66 %]"
