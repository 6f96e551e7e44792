"""A claim of a paper gets a word whose error rate is known, and pages take what scripts print."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from reproductions import claimed
from reproductions import markdown as pages
from scripts.site import marks

from patternbench.analyze.statements.claims.judged import ClaimedChange
from patternbench.analyze.statements.verdict import HIGHER, LOWER, Expected, in_percent

BLOCKS, RUNS = 10, 200
SAME = in_percent(20.0)


@pytest.mark.slow
def test_a_claim_about_nothing_is_decided_in_at_most_five_of_a_hundred_runs() -> None:
    assert decided("lower", count=12) <= 0.07


def test_equal_clients_agree_when_the_spread_is_small() -> None:
    assert decided("same", count=2, spread=0.05, margin="20 %", runs=20) >= 0.95


def test_what_nothing_decides_cannot_be_told() -> None:
    wide = interval(-31, -54, 2)
    assert verdict(SAME, wide) == verdict(LOWER, wide) == "inconclusive"


def test_one_block_decides_nothing_and_has_no_interval() -> None:
    (held,) = claimed.levelled(rounds(np.zeros((1, 1)), -np.ones((1, 1))), FACTORS).hold([claim("lower")])
    assert held.row[3:] == ["−63.2\u00a0% (no interval)", "inconclusive"]


def test_one_interval_on_the_other_side_is_never_confirmed() -> None:
    lower, higher = interval(-30, -40, -20), interval(30, 20, 40)
    assert verdict(LOWER, lower, lower) == "confirmed"
    assert verdict(LOWER, lower, higher) == "mixed"
    assert verdict(LOWER, higher, higher) == "contradicted"
    assert verdict(HIGHER, lower, interval(3, -9, 17)) == "contradicted in part"


def test_a_table_of_verdicts_has_the_writers_own_changes_the_least_and_the_largest() -> None:
    held = claimed.HeldClaim("b is higher", HIGHER, (interval(30, 20, 40), interval(-5, -9, -1)))
    (*_, row) = claimed.verdict_table([held], "claim").splitlines()
    changes = "−5\u00a0% (−9 to −1\u00a0%); +30\u00a0% (+20 to +40\u00a0%)"
    assert row == f"| b is higher | higher | 1 of 2 for, 1 against | {changes} | mixed |"


def test_a_block_in_which_one_side_is_unknown_is_left_out() -> None:
    a, b = np.array([[0.0, 0.1, 0.0, np.nan]]), np.array([[1.0, 1.2, 1.1, 9.0]])
    every, known = (
        claimed.levelled(one, FACTORS).hold([claim("higher")]) for one in (rounds(a, b), rounds(a[:, :3], b[:, :3]))
    )
    assert every == known


def test_a_part_of_a_page_is_replaced_and_nothing_else() -> None:
    page = "before\n<!-- a -->\nold\n<!-- end of a -->\nafter <!-- b -->\nkept\n<!-- end of b -->\n"
    new = marks.with_part(page, "a", "new\nlines")
    assert new == page.replace("old", "new\nlines")
    assert (marks.part(new, "a"), marks.part(new, "b")) == ("new\nlines", "kept")


def test_the_median_over_rounds_stands_with_the_least_and_the_greatest_that_are_known() -> None:
    assert pages.spread(pd.Series([0.0411, np.nan, 0.039, 0.05]), factor=1000) == "41.1 (39 to 50)"
    assert pages.spread(pd.Series([np.nan])) == "none"


def test_warnings_of_rounds_are_counted_once_per_round() -> None:
    busy = '[{"kind": "busy"}, {"kind": "busy"}, {"kind": "few"}]'
    reported = pages.warned(pd.DataFrame({"warnings": [busy, '[{"kind": "busy"}]', None]}))
    assert reported == "Rounds: 3. Warnings that they carry: `busy` 2, `few` 1."


FACTORS = ("side", "place")


def interval(value: float, low: float, high: float) -> ClaimedChange:
    """A change with its interval."""
    return ClaimedChange({}, None, value, low, high, rounds=3)


def verdict(expected: Expected, *changes: ClaimedChange) -> str:
    """What becomes of a claim whose changes these are."""
    return claimed.HeldClaim("", expected, changes).verdict


def rounds(a: np.ndarray, b: np.ndarray) -> pd.DataFrame:
    """Rounds of two sides: a row of logs for each place, a column for each block."""
    parts = [
        pd.DataFrame({"side": side, "place": place, "block": range(len(logs)), "ms": np.exp(logs)})
        for side, every in (("a", a), ("b", b))
        for place, logs in enumerate(every)
    ]
    return pd.concat(parts, ignore_index=True)


def claim(change: str, margin: str | None = None) -> claimed.Claim:
    """A claim on the change from one side to the other in each place."""
    sides = {"from": {"side": "a"}, "to": {"side": "b"}}
    stated = {"says": "b is not as a", "response": "ms", "change": change, "margin": margin, **sides}
    return claimed.parsed(claimed.DeclaredClaim.model_validate(stated), "")


def decided(change: str, *, count: int, spread: float = 0.08, margin: str | None = None, runs: int = RUNS) -> float:
    """How often a claim about ``count`` equal ratios gets another word than inconclusive."""
    rng, words = np.random.default_rng(count), 0
    for _ in range(runs):
        table = rounds(*rng.normal(0, spread, (2, count, BLOCKS)))
        (held,) = claimed.levelled(table, FACTORS).hold([claim(change, margin)])
        words += held.row[-1] != "inconclusive"
    return words / runs
