"""How new observations scatter, where the spread is unequal: a model is saved whatever its rounds are."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from patternbench.analyze.models.formula import build_design
from patternbench.analyze.models.linear import factorize, fit_linear
from patternbench.analyze.models.robust import Remedy
from patternbench.analyze.models.spread import spread_of

UNEQUAL = Remedy("hc3", ("Breusch-Pagan",), "")


def with_tenfold_rounds(seed: int) -> pd.DataFrame:
    """120 rounds that hardly differ but for two, which took ten times as long."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"users": np.tile([10, 20, 40, 80], 30), "strategy": np.repeat(["a", "b", "c"], 40)})
    table["y"] = (50 + 0.1 * table["users"]) * np.exp(rng.normal(0, 0.001, 120))
    table.loc[rng.choice(120, 2, replace=False), "y"] *= 10
    return table


@pytest.mark.parametrize("seed", [7, 9, 45, 53, 87, 93])
def test_a_spread_that_no_model_can_follow_is_taken_as_equal_everywhere(seed: int) -> None:
    design = build_design("y ~ users + C(strategy)", with_tenfold_rounds(seed))
    fit = fit_linear(design, factorize(design), 0, 0.95)
    spread = spread_of(fit, UNEQUAL)
    variances = spread.over(design.x, fit.basis.r_inverse, fit.fitted)
    assert np.isfinite(variances).all()
    assert (variances > 0).all()


@pytest.mark.parametrize("seed", range(4))
def test_a_spread_that_is_equal_everywhere_is_found_to_be_so_without_an_intercept_too(seed: int) -> None:
    """By how well it fits the residuals, and not by how small it is: through the origin alone, those two differ."""
    users = np.tile([10.0, 20.0, 40.0, 80.0], 30)
    table = pd.DataFrame({"users": users, "y": 2 * users + 3 * np.random.default_rng(seed).normal(0, 1, 120)})
    design = build_design("y ~ 0 + users", table)
    fit = fit_linear(design, factorize(design), 0, 0.95)
    deviations = np.sqrt(spread_of(fit, UNEQUAL).over(design.x, fit.basis.r_inverse, fit.fitted))
    assert deviations.min() > 2.0
    assert deviations.max() < 4.5
