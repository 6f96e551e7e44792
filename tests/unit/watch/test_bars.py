"""Numbers as characters."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.studies import ROOT

from patternbench.watch.bars import DRAWN, PLAIN, interval, resampled


@pytest.mark.parametrize(
    ("ends", "value", "look", "drawn"),
    [
        ((-50.0, 50.0), 0.0, "open", "     ├────○────┤     "),
        ((-100.0, -50.0), -80.0, "better", "├─●──┤    │          "),
        ((50.0, 400.0), 90.0, "worse", "          │    ├───◆▸"),
        ((None, None), 184.0, "open", "          │         ▸"),
        ((-400.0, -120.0), -184.0, "better", "◂         │          "),
        ((None, None), 10.0, "open", "          │○         "),
        ((None, None), None, "open", "          │          "),
    ],
)
def test_an_interval_is_drawn_around_no_change(
    ends: tuple[float | None, float | None], value: float | None, look: str, drawn: str
) -> None:
    assert interval(ends, value, look, 100.0, 21) == drawn


def test_an_interval_can_be_drawn_in_plain_characters() -> None:
    assert interval((-50.0, 50.0), 0.0, "open", 100.0, 21, marks=PLAIN) == "     [----o----]     "


@given(st.lists(st.none() | st.floats(0, 1e6), max_size=300), st.integers(1, 200))
def test_resampling_gives_a_value_for_each_column_and_invents_none(values: list[float | None], columns: int) -> None:
    made = resampled(values, columns)
    known = [value for value in values if value is not None]
    assert len(made) == columns
    assert all(one is None or (min(known) <= one * (1 + 1e-9) and one <= max(known) * (1 + 1e-9)) for one in made)


def test_the_page_explains_every_mark_of_an_interval() -> None:
    page = (ROOT / "docs/watch.md").read_text()
    pairs = zip((DRAWN.better, DRAWN.worse, DRAWN.open), (PLAIN.better, PLAIN.worse, PLAIN.open), strict=True)
    for drawn, plain in pairs:
        assert f"| `{drawn}` | `{plain}` |" in page
    assert f"| `{DRAWN.beyond[0]}`, `{DRAWN.beyond[1]}` | `{PLAIN.beyond[0]}`, `{PLAIN.beyond[1]}` |" in page
