"""A rule that looks only after a block of each lane keeps its promise at the few looks that it takes."""

from __future__ import annotations

import numpy as np
import pytest

from patternbench.analyze.stopping import rule

PROMISED, SIMULATED = 0.95, 0.004
"""What the interval at the stop claims, and how far a coverage over 4,000 paths may lie below for the worst noise."""


@pytest.mark.parametrize("lanes", [1, 2, 3, 4, 8, 15, 30])
@pytest.mark.parametrize(("fewest", "most"), [(3, 30), (5, 40), (3, 6)])
def test_the_interval_at_the_stop_covers_where_a_block_of_each_lane_comes_between_two_looks(
    lanes: int, fewest: int, most: int
) -> None:
    planned = np.array(rule.confidences(fewest, most, PROMISED, step=lanes))
    looks = np.unique([*range(fewest, most, lanes), most])
    errors = rule._standard_errors(looks, np.random.default_rng(7))
    assert len(planned) == most - fewest + 1
    assert rule.worst_coverage(errors, looks, planned[looks - fewest]) >= PROMISED - rule._SIMULATED - SIMULATED
