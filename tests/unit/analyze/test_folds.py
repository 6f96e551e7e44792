"""How scenarios are left out to see how well a model predicts: one by one while they are few, else in ten parts."""

from __future__ import annotations

import numpy as np
import pytest

from patternbench.analyze.models.crossval import deal_folds


@pytest.mark.parametrize("count", [2, 49, 50])
def test_up_to_fifty_scenarios_are_left_out_one_by_one(count: int) -> None:
    groups = np.repeat(np.arange(count), 3)
    assert deal_folds(groups, np.random.default_rng(1)).tolist() == groups.tolist()


@pytest.mark.parametrize("count", [51, 60, 203])
def test_more_are_dealt_into_ten_parts_of_nearly_equal_size_and_none_is_torn(count: int) -> None:
    groups = np.repeat(np.arange(count), 3)
    folds = deal_folds(groups, np.random.default_rng(1))
    of_group = folds.reshape(count, 3)
    assert (of_group == of_group[:, :1]).all()
    sizes = np.bincount(of_group[:, 0])
    assert len(sizes) == 10
    assert sizes.max() - sizes.min() <= 1
