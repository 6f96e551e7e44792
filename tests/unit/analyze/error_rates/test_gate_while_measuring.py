"""A gate that looks while it measures: how often it is wrong, under the noises of real machines."""

from __future__ import annotations

import numpy as np
import pytest

from patternbench.analyze.compare.gate import parse_condition
from patternbench.analyze.compare.gated_error_rates import GateRates, gate_rates
from patternbench.analyze.statements.family import together
from patternbench.analyze.stopping.looking import confidence_of_each, planned_looks
from patternbench.terms.arrays import Floats

FEWEST, MOST, LEVEL = 6, 40, 0.95
LOOKS = planned_looks(FEWEST, MOST)
EACH = together(confidence_of_each(LEVEL, FEWEST, MOST), 1)
P95, RATE = parse_condition("p95 > +10%"), parse_condition("goodput < -10%")
_RNG = np.random.default_rng(36)
NOISES: dict[str, Floats] = {
    "a quiet machine": 0.03 * _RNG.standard_normal(400),
    "a shared runner": 0.10 * _RNG.standard_normal(400),
    "a noisy one": 0.30 * _RNG.standard_normal(400),
    "a few rounds far off": 0.05 * _RNG.standard_t(3, 400),
    "two speeds": np.where(_RNG.random(400) < 0.2, 0.35, 0.0) + 0.04 * _RNG.standard_normal(400),
    "one side": 0.05 * (_RNG.exponential(1.0, 400) - 1),
}


@pytest.mark.slow
@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("condition", [P95, RATE])
def test_the_same_thing_against_itself_fails_in_at_most_5_of_100_gates(noise: str, condition: object) -> None:
    assert isinstance(condition, type(P95))
    assert gate_rates(NOISES[noise], condition, LOOKS, EACH, 0.0).failed <= 0.05


@pytest.mark.slow
@pytest.mark.parametrize("noise", NOISES)
def test_thirty_percent_more_pass_in_at_most_5_of_100_gates(noise: str) -> None:
    assert gate_rates(NOISES[noise], P95, LOOKS, EACH, 30.0).passed <= 0.05


@pytest.mark.slow
@pytest.mark.parametrize("noise", NOISES)
def test_a_change_at_the_bound_is_decided_wrongly_in_at_most_5_of_100_gates(noise: str) -> None:
    found = gate_rates(NOISES[noise], P95, LOOKS, EACH, 10.0)
    assert found.failed <= 0.05 and found.passed <= 0.05


@pytest.mark.slow
def test_a_quiet_machine_decides_most_gates() -> None:
    same, half, more = (gate_rates(NOISES["a quiet machine"], P95, LOOKS, EACH, effect) for effect in (0.0, 5.0, 30.0))
    assert same.passed > 0.95
    assert half.passed > 0.5
    assert more.failed > 0.95


def test_the_rates_of_a_gate_are_shares_of_all_gates() -> None:
    found = gate_rates(NOISES["a shared runner"][:20], P95, (6, 9), EACH, 5.0)
    assert isinstance(found, GateRates)
    assert min(found.failed, found.passed, found.undecided) >= 0
    assert found.failed + found.passed + found.undecided == pytest.approx(1)


def test_looking_more_often_at_the_same_confidence_would_be_wrong_more_often() -> None:
    """The looks share the error probability: at 95 % for each of them the same gate would be wrong too often."""
    noise = NOISES["a few rounds far off"]
    shared, unshared = (gate_rates(noise, P95, LOOKS, level, 10.0) for level in (EACH, LEVEL))
    assert shared.failed + shared.passed < unshared.failed + unshared.passed
