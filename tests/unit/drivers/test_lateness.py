"""When lateness makes a round invalid."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from patternbench.drivers.engine import warnings
from patternbench.study.models import Lateness


def summary(*names: str) -> Any:
    """What the engine says of itself, each of which it finds invalid."""
    reported = [SimpleNamespace(name=name, message="m", remedy="r", invalidates=True) for name in names]
    return SimpleNamespace(doubts=reported)


def test_a_quick_round_is_not_dropped_for_a_lateness_that_a_slow_one_is_allowed() -> None:
    late, saturated = warnings(summary("late_schedule", "generator_saturated"), bounded=False)
    assert (late.invalidates, saturated.invalidates) == (False, True)


def test_a_round_beyond_the_bound_that_its_study_sets_is_not_valid() -> None:
    assert warnings(summary("late_schedule"), bounded=True)[0].invalidates


ROUNDS = 20_000


@pytest.mark.parametrize("requested", [None, {"floor": "4ms"}, {"percentage": 20}, {"percentage": 20, "floor": "2ms"}])
def test_rounds_that_are_left_out_for_their_lateness_are_as_quick_as_those_that_stay(
    requested: dict[str, Any] | None,
) -> None:
    """Half of the rounds are four times as slow as the others, and the generator is as late in all of them."""
    rng = np.random.default_rng(7)
    service_ms = np.where(rng.random(ROUNDS) < 0.5, 5.0, 20.0)
    late_ms = rng.exponential(2.0, ROUNDS)
    lateness = Lateness.model_validate(requested) if requested else None
    bound_ms = by_the_engine(lateness or Lateness(percentage=10), service_ms)
    bounded = lateness is not None and lateness.is_one_bound
    (beyond,) = warnings(summary("late_schedule"), bounded)
    valid = (late_ms <= bound_ms) | (not beyond.invalidates)
    assert service_ms[valid].mean() == pytest.approx(service_ms.mean(), rel=0.02)
    own = late_ms <= by_the_engine(Lateness(percentage=20), service_ms)
    assert service_ms[own].mean() > 1.1 * service_ms.mean(), "a bound by a round's own service time keeps the slow ones"


def by_the_engine(allowed: Lateness, service_ms: Any) -> Any:
    """The engine's bound of each round: the share of its own service time, and no less than the floor."""
    return np.maximum(allowed.floor.us / 1000, service_ms * allowed.percentage / 100)
