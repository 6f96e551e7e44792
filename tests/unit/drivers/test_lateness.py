"""When lateness makes a round invalid."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from patternbench.drivers.engine import doubts


def summary(*names: str) -> Any:
    """What the engine says of itself, each of which it finds invalid."""
    reported = [SimpleNamespace(name=name, message="m", remedy="r", invalidates=True) for name in names]
    return SimpleNamespace(doubts=reported)


def test_a_quick_round_is_not_dropped_for_a_lateness_that_a_slow_one_is_allowed() -> None:
    late, saturated = doubts(summary("late_schedule", "generator_saturated"), bounded=False)
    assert (late.invalidates, saturated.invalidates) == (False, True)


def test_a_round_beyond_the_bound_that_its_study_sets_is_not_valid() -> None:
    assert doubts(summary("late_schedule"), bounded=True)[0].invalidates
