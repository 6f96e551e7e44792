"""A change in words, next to its interval."""

from __future__ import annotations

import pytest

from patternbench.analyze.statements.sentences import change_text, changed

NBSP = "\N{NO-BREAK SPACE}"


@pytest.mark.parametrize(
    ("value", "ends", "text"),
    [
        (0.000364, (-25.6, 34.5), "0"),
        (-0.000364, (-25.6, 34.5), "0"),
        (0.0345, (-25.6, 34.5), "+0.0345"),
        (0.000364, (0.0003, 0.0004), "+0.000364"),
        (0.000364, (None, None), "+0.000364"),
    ],
)
def test_a_change_that_its_interval_dwarfs_is_written_as_0(
    value: float, ends: tuple[float | None, float | None], text: str
) -> None:
    assert change_text("p95", value, ends, relative=True).change == f"{text}{NBSP}%"


@pytest.mark.parametrize("value", [-82.0, 46.0])
def test_a_large_change_is_written_though_too_few_rounds_bound_it_nowhere_above(value: float) -> None:
    text = change_text("p95", value, (-100.0, 2.08e163), relative=True).change
    assert text == f"{'−' if value < 0 else '+'}{abs(value):g}{NBSP}%"


def test_a_change_of_a_share_next_to_an_interval_that_dwarfs_it_is_0() -> None:
    assert change_text("failure_rate", 0.0004, (-0.1, 1.2), relative=False).change.startswith("0")


@pytest.mark.parametrize(
    ("value", "ends", "text"),
    [
        (-98.9, (-100.0, 38_172_803_826.0), f"−98.9{NBSP}% (−100{NBSP}% to over 100 times)"),
        (23_174.0, (12.0, 146_693.0), f"over 100 times (+12{NBSP}% to over 100 times)"),
        (20_000.0, (10_000.0, 40_000.0), "over 100 times (over 100 times)"),
        (5000.0, (20.0, 9900.0), f"+5,000{NBSP}% (+20 to +9,900{NBSP}%)"),
        (20_000.0, (20_000.0, 20_000.0), "over 100 times (the same in every round)"),
        (20_000.0, (None, None), "over 100 times (no interval)"),
    ],
)
def test_a_change_that_its_rounds_bound_nowhere_near_is_over_100_times_and_no_row_of_digits(
    value: float, ends: tuple[float | None, float | None], text: str
) -> None:
    assert changed("p95", value, ends, relative=True) == text


def test_a_change_in_a_unit_of_its_own_is_written_out_however_large() -> None:
    assert changed("items", 20_000.0, (10_000.0, 40_000.0), relative=False) == "+20,000 (+10,000 to +40,000)"
