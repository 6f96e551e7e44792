"""A claim of a paper gets a word whose error rate is known, and pages take what scripts print."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from reproductions import contrasts as claims
from reproductions import markdown as pages

BLOCKS, RUNS = 10, 600


@pytest.mark.slow
@pytest.mark.parametrize("says", ["lower", "higher"])
def test_a_claim_about_nothing_is_decided_in_at_most_five_of_a_hundred_runs(says: str) -> None:
    assert decided(says, true=1.0, count=12) <= 0.07


@pytest.mark.slow
@pytest.mark.parametrize("blocks", [3, 5])
def test_few_blocks_decide_a_claim_about_nothing_no_more_often(blocks: int) -> None:
    assert decided("lower", true=1.0, count=15, blocks=blocks) <= 0.07


def test_clients_that_differ_by_the_margin_agree_in_at_most_five_of_a_hundred_runs() -> None:
    assert decided("the same", true=1.2, count=12) <= 0.07


def test_shares_that_differ_by_the_margin_agree_in_at_most_five_of_a_hundred_runs() -> None:
    assert decided("the same", true=np.exp(1.0), count=12, spread=0.4, scale=claims.POINTS) <= 0.07


def test_equal_clients_agree_when_the_spread_is_small() -> None:
    assert decided("the same", true=1.0, count=2, spread=0.05) >= 0.95


def test_what_nothing_decides_cannot_be_told() -> None:
    wide = claims.Contrast(-31, -54, 2)
    assert claims.verdict("the same", [wide]) == claims.verdict("lower", [wide]) == "inconclusive"


def test_one_block_decides_nothing_and_has_no_interval() -> None:
    (change,) = claims.contrasts(claims.Claim("", "lower", [(np.zeros(1), -np.ones(1))]))
    assert claims.verdict("lower", [change]) == "inconclusive"
    assert change.text() == "-63 % [no interval]"


def test_small_changes_are_reported_with_a_decimal_and_zero_has_one_sign() -> None:
    small = claims.Contrast(-0.01, -0.32, 0.29, claims.POINTS)
    large = claims.Contrast(-0.4, -10.2, 9.4, claims.POINTS)
    assert small.text() == "+0.0 points [-0.3, +0.3]"
    assert large.text() == "+0 points [-10, +9]"


def test_one_interval_on_the_other_side_is_never_confirmed() -> None:
    lower, higher = claims.Contrast(-30, -40, -20), claims.Contrast(30, 20, 40)
    assert claims.verdict("lower", [lower, lower]) == "confirmed"
    assert claims.verdict("lower", [lower, higher]) == "mixed"
    assert claims.verdict("lower", [higher, higher]) == "contradicted"
    assert claims.verdict("lower", [higher, claims.Contrast(3, -9, 17)]) == "contradicted in part"


def test_a_block_in_which_one_side_is_unknown_is_left_out() -> None:
    a, b = np.array([0.0, 0.0, 0.0, np.nan]), np.array([1.0, 1.2, 1.1, 9.0])
    assert claims.contrast(a, b, claims.PLAIN) == claims.contrast(a[:3], b[:3], claims.PLAIN)


def test_values_are_laid_out_by_block_under_their_levels() -> None:
    rounds = pd.DataFrame({"block": [0, 1, 0], "bundle": ["N", "N", "Y"], "size": [10, 10, 10], "p50": [1.0, 2.0, 3.0]})
    values = claims.by_block(rounds, ("bundle", "size"), rounds["p50"])
    assert values["N", 10].tolist() == [1.0, 2.0]
    assert values["Y", 10][0] == 3.0
    assert np.isnan(values["Y", 10][1])


def test_a_part_of_a_page_is_replaced_and_nothing_else() -> None:
    page = "before\n<!-- a -->\nold\n<!-- end of a -->\nafter <!-- b -->\nkept\n<!-- end of b -->\n"
    new = pages.with_part(page, "a", "new\nlines")
    assert new == page.replace("old", "new\nlines")
    assert (pages.part(new, "a"), pages.part(new, "b")) == ("new\nlines", "kept")


def test_warnings_of_rounds_are_counted_once_per_round() -> None:
    busy = '[{"kind": "busy"}, {"kind": "busy"}, {"kind": "few"}]'
    reported = pages.warned(pd.DataFrame({"warnings": [busy, '[{"kind": "busy"}]', None]}))
    assert reported == "Rounds: 3. Warnings that they carry: `busy` 2, `few` 1."


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0"), (-312.011, "-312"), (31.29, "31.3"), (0.00412, "0.00412"), (1673.4, "1673"), (-1.5, "-1.50")],
)
def test_numbers_are_reported_with_three_digits_and_no_exponent(number: float, text: str) -> None:
    assert pages.short(number) == text


def decided(
    says: str, *, true: float, count: int, spread: float = 0.08, blocks: int = BLOCKS, scale: object = claims.PERCENT
) -> float:
    """How often a claim about ``count`` equal ratios gets another word than inconclusive."""
    rng, words = np.random.default_rng(count), 0
    for _ in range(RUNS):
        ends = rng.normal(0, spread, (count, 2, blocks)) + np.array([[0.0], [np.log(true)]])
        claim = claims.Claim("", says, [(a, b) for a, b in ends], scale)
        words += claims.verdict(says, claims.contrasts(claim)) != "inconclusive"
    return words / RUNS
