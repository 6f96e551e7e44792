"""Conditions of a round under which its numbers may mislead."""

from __future__ import annotations

from patternbench.run import doubts


def test_decisions_that_the_store_made_raise_no_doubt() -> None:
    assert doubts.of_decisions(1000, 0) == []


def test_a_few_decisions_without_the_store_are_a_doubt_and_many_make_the_round_worthless() -> None:
    few, many = doubts.of_decisions(1000, 10), doubts.of_decisions(1000, 11)
    assert [few[0].kind, few[0].invalidates] == ["store_missing", False]
    assert many[0].invalidates
    assert "11 of 1,000 decisions" in many[0].message
