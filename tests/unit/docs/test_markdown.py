"""Numbers in the pages' tables."""

import pandas as pd
import pytest
from reproductions.markdown import spread, within


@pytest.mark.parametrize(
    ("values", "printed"),
    [
        ([41.0, 40.0, 42.0], "41 (40 to 42)"),
        ([10.0, 10.0, 10.0], "10"),
        ([10.0, 10.001], "10"),  # alike as printed
        ([10.0, 10.0, 12.0], "10 (10 to 12)"),
        ([8.0, 10.0, 10.0], "10 (8 to 10)"),
        ([float("nan")], "none"),
    ],
)
def test_a_number_whose_ends_are_printed_as_itself_stands_alone(values: list[float], printed: str) -> None:
    assert spread(pd.Series(values)) == printed


@pytest.mark.parametrize(
    ("low", "high", "printed"),
    [(0.3, 0.5, "0.4 (0.3 to 0.5)"), (0.4, 0.4, "0.4"), (None, 0.5, "0.4"), (0.3, float("inf"), "0.4")],
)
def test_an_interval_is_printed_where_it_says_more_than_its_number(
    low: float | None, high: float, printed: str
) -> None:
    assert within(0.4, low, high) == printed


@pytest.mark.parametrize(
    ("values", "printed"),
    [
        ([30.0, 30.0], "over 30"),
        ([1.0, 8.0, 30.0], "8 (1 to over 30)"),
        ([1.0, 30.0, 30.0], "over 30 (1 to over 30)"),
        ([1.0, 2.0, 2.0], "2 (1 to 2)"),
    ],
)
def test_a_time_that_was_seen_no_longer_is_printed_as_over_it(values: list[float], printed: str) -> None:
    assert spread(pd.Series(values), beyond=30.0) == printed
