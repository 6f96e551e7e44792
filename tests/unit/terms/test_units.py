"""Durations: one meaning however they are written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patternbench.terms.units import Duration


@pytest.mark.parametrize(
    ("text", "us", "canonical"),
    [
        ("20ms", 20_000, "20ms"),
        ("1.5s", 1_500_000, "1500ms"),
        ("90s", 90_000_000, "90s"),
        ("120s", 120_000_000, "2m"),
        ("0s", 0, "0ms"),
        ("250us", 250, "250us"),
        ("1h", 3_600_000_000, "1h"),
    ],
)
def test_a_duration_has_one_canonical_writing(text: str, us: int, canonical: str) -> None:
    assert Duration.parse(text) == Duration(us)
    assert str(Duration(us)) == canonical


@given(st.integers(0, 10**12))
def test_the_canonical_writing_reads_back(us: int) -> None:
    assert Duration.parse(str(Duration(us))).us == us


@pytest.mark.parametrize("text", ["0.5us", "0.0001ms"])
def test_nothing_finer_than_a_microsecond_is_rounded_in_silence(text: str) -> None:
    with pytest.raises(ValueError, match="finer"):
        Duration.parse(text)


@pytest.mark.parametrize("text", ["৪0ms", "５ms", "٥s", "1.٥s"])
def test_a_digit_of_another_script_is_no_digit(text: str) -> None:
    """The Bengali four looks like an eight: ``৪0ms`` would be read as 80 by a person, and as 40 by a program."""
    with pytest.raises(ValueError, match="is not a duration"):
        Duration.parse(text)
