"""Student's t without the checks of ``scipy.stats`` is that of ``scipy.stats``, to the bit."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from patternbench.analyze.students_t import chance_above, quantile, upper_quantile

FREEDOMS = (0.5, 1, 2, 3.7, 50, 1e5, np.inf, np.nan)


@pytest.mark.parametrize("df", FREEDOMS)
def test_the_chance_above_a_value_is_that_of_scipy_stats(df: float) -> None:
    values = np.array([-np.inf, -3.0, 0.0, 1e-9, 1.0, 50.0, 1e300, np.inf, np.nan])
    np.testing.assert_array_equal(chance_above(values, df), stats.t.sf(values, df))


@pytest.mark.parametrize("df", FREEDOMS)
def test_quantiles_are_those_of_scipy_stats(df: float) -> None:
    shares = np.array([1e-300, 1e-10, 0.025, 0.5, 0.975, 1 - 1e-12, np.nan])
    np.testing.assert_array_equal(quantile(shares, df), stats.t.ppf(shares, df))
    np.testing.assert_array_equal(upper_quantile(shares, df), stats.t.isf(shares, df))


def test_a_single_number_gives_a_single_number() -> None:
    for one in (chance_above(1.5, 4.0), quantile(0.9, 4.0), upper_quantile(0.1, 4.0)):
        assert isinstance(one, float)
