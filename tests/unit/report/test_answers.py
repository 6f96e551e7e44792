"""The first sentences of a comparison's page: what got better and what worse, and what the gate says."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from tests.support.factors import table_of

from patternbench.analyze.compare.comparison import (
    Comparison,
    ComparisonOptions,
    compare_repeated_runs,
    compare_runs,
    compare_with_baseline,
)
from patternbench.analyze.compare.gate import judge, parse_condition
from patternbench.report.pages.answers import SHOWN, answer
from patternbench.report.pages.comparison import comparison_html

HOW = ComparisonOptions(responses=("p95", "goodput", "failure_rate"), factors=table_of({"users": [10, 50]}))


def rounds(seed: int, slower: float = 1.0, failed: float = 0.0) -> pd.DataFrame:
    draw = np.random.default_rng(seed)
    rows = [
        {
            "users": users,
            "block": block,
            "p95": 0.02 * slower * np.exp(draw.normal(0, 0.01)),
            "goodput": 100 * slower * np.exp(draw.normal(0, 0.01)),
            "failure_rate": failed + draw.uniform(0, 0.1),
        }
        for block in range(8)
        for users in (10, 50)
    ]
    return pd.DataFrame(rows)


def repeated(slower: float, failed: float = 0.0) -> Comparison:
    sides = [rounds(seed) for seed in (1, 2, 3)], [rounds(seed, slower, failed) for seed in (4, 5, 6)]
    return compare_repeated_runs(*sides, HOW)


def said(comparison: Comparison, *conditions: str) -> list[str]:
    section = answer(comparison, judge(comparison, [parse_condition(text) for text in conditions]))
    return [sentence.replace("\u00a0", " ") for sentence in section.answers]


def test_what_got_worse_and_what_got_better_are_said_with_the_largest_change_of_each_response() -> None:
    worse, better = said(repeated(1.3))
    assert worse.startswith("B is worse than A: p95 response time +")
    assert " at users=" in worse
    assert better.startswith("B is better than A: Goodput +")


def test_a_table_has_the_largest_change_of_each_response_with_its_picture_and_what_is_shown() -> None:
    comparison = repeated(1.3)
    (table,) = answer(comparison).tables
    assert table.frame[SHOWN].tolist() == ["worse", "better", "inconclusive"]
    assert [name for name in table.frame if name not in ("response", "largest change", SHOWN)] == ["at"]
    page = comparison_html(comparison)
    assert re.search(r'<td><span class="change worse"><svg class="interval" [^>]*aria-hidden="true"', page)
    assert page.count('<span class="change ') == 3


def test_the_gate_speaks_first_and_decides_the_look() -> None:
    comparison = repeated(1.3)
    fails, *rest = said(comparison, "p95 > +10%")
    assert fails.startswith("FAIL: p95 > +10% at users=")
    assert " and 1 more" in fails
    assert len(rest) == 2
    verdicts = judge(comparison, [parse_condition("p95 > +80%")])
    passed = answer(comparison, verdicts)
    assert passed.answers[0] == "PASS: p95 > +80% in none of 2 scenarios."
    assert passed.look == "better"
    assert answer(comparison, judge(comparison, [parse_condition("p95 > +10%")])).look == "worse"


def test_what_the_rounds_cannot_tell_is_not_passed() -> None:
    noisy = compare_repeated_runs([rounds(1), rounds(2, 2.0)], [rounds(3), rounds(4, 2.0)], HOW)
    section = answer(noisy, judge(noisy, [parse_condition("p95 > +10%")]))
    assert section.answers[0].startswith("INCONCLUSIVE: whether p95 > +10% at users=")
    assert section.look == "open"


def test_that_nothing_is_shown_is_not_said_to_be_no_change() -> None:
    assert said(repeated(1.0)) == ["No response is shown to be better or worse in B than in A."]
    assert answer(repeated(1.0)).look == "open"


def test_two_single_runs_are_named_as_such() -> None:
    worse, _ = said(compare_runs(rounds(1), rounds(2, 1.3), HOW))
    assert worse.startswith("In these two runs B is worse than A: ")


def test_each_unit_has_a_figure_of_its_own() -> None:
    drawings = answer(repeated(1.3, failed=5.0)).drawings
    assert len(drawings) == 2
    assert "p95 response time" in drawings[0].svg
    assert "Failed calls" in drawings[1].svg
    assert "points" in drawings[1].svg


@pytest.mark.parametrize("named", [["A is one, B is two.", "They differ in seed."], []])
def test_the_page_says_the_answer_then_each_response_and_what_was_compared_at_the_end(named: list[str]) -> None:
    comparison = compare_with_baseline(rounds(1).assign(users=[10, 50] * 8), ("users=10",), HOW)
    page = comparison_html(comparison, about=named)
    assert page.index('id="answer"') < page.index('id="difference-1"')
    if named:
        assert page.index("A is one, B is two.") < page.index('id="difference-1"') < page.index("They differ in seed.")
