"""The noises that simulated error rates are drawn from are what their names say."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support import noises

SHAPE = (400, 12, 4)


@pytest.mark.parametrize("name", list(noises.NOISES))
def test_every_noise_has_a_shape_a_seed_and_equal_middles(name: str) -> None:
    draw = noises.NOISES[name]
    logs = draw(np.random.default_rng(1), SHAPE)
    assert logs.shape == SHAPE
    assert np.array_equal(logs, draw(np.random.default_rng(1), SHAPE))
    means, errors = logs.mean(axis=(0, 1)), logs.std(axis=(0, 1)) / np.sqrt(SHAPE[0])
    assert np.ptp(means) <= 4 * errors.max()


def test_a_drifting_machine_resembles_itself_within_a_block_and_no_configuration_comes_first() -> None:
    logs = noises.drifting(np.random.default_rng(2), (2000, 6, 8))
    blocks = logs.mean(axis=2)
    assert blocks.std() > 0.7 * logs.std()
    assert noises.trend(np.random.default_rng(2), (2000, 6, 8), 0.0, 0.0).mean(axis=(0, 1)).std() < 0.002


def test_two_speeds_have_a_fifth_of_slow_rounds_whether_they_stick_or_not() -> None:
    for draw in (noises.bimodal, noises.sticky):
        logs = draw(np.random.default_rng(3), (2000, 10, 2), spread=0.0, blocks=0.0)
        assert (logs > 0.1).mean() == pytest.approx(0.2, abs=0.02)


def test_episodes_fail_at_the_rate_that_was_asked_for() -> None:
    failed = noises.episodes(np.random.default_rng(4), (2000, 10, 2), rate=0.015, calls=100)
    assert failed.mean() == pytest.approx(0.015, abs=0.001)
    assert (failed > 0).mean() == pytest.approx(0.2, abs=0.02)
