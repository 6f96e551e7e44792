"""Values near what a double can hold: a right result or one clear error, and no library warns."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np
import pandas as pd
import pytest

from patternbench.analyze.compare.comparison import ComparisonOptions, compare_with_baseline
from patternbench.analyze.models.fit import fit_formulas
from patternbench.analyze.recommend.recommendation import Criteria, recommend
from patternbench.terms.data_problems import DataError


@pytest.fixture(autouse=True)
def _no_library_may_warn() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def table(scale: float) -> pd.DataFrame:
    """Two strategies at two loads, eight rounds each."""
    source = np.random.default_rng(1)
    rows = [(b, u, s) for b in range(8) for u in (10, 80) for s in ("baseline", "retry")]
    found = pd.DataFrame(rows, columns=["block", "users", "strategy"])
    return found.assign(p95=scale * np.exp(source.normal(0, 0.1, len(found))), failure_rate=0.5)


@pytest.mark.parametrize("scale", [1e300, 1e-300])
def test_responses_that_cannot_be_squared_are_refused_with_what_to_do(scale: float) -> None:
    how = ComparisonOptions(by=("users", "strategy"), responses=("p95",))
    with pytest.raises(DataError, match=r"p95 reaches \de[+-]\d+, whose square no number can hold.*Change its unit"):
        compare_with_baseline(table(scale), ["strategy=baseline"], how)
    with pytest.raises(DataError, match="Change its unit"):
        recommend(table(scale), Criteria(("minimise p95",), by=("users", "strategy")))
    with pytest.raises(DataError, match="Change its unit"):
        fit_formulas(table(scale), ["p95 ~ users"])


def test_a_response_behind_a_log_may_be_of_any_size() -> None:
    near, far = (fit_formulas(table(scale), ["log(p95) ~ users + strategy"]).models[0] for scale in (1.0, 1e300))
    assert far.errors.mape == pytest.approx(near.errors.mape)
    assert far.errors.rmse == pytest.approx(1e300 * near.errors.rmse)
    assert far.cross_validation.errors.mae == pytest.approx(1e300 * near.cross_validation.errors.mae)


@pytest.mark.parametrize("formula", ["p95 ~ users", "p95 ~ I(users**2)", "p95 ~ log(users)"])
def test_a_factor_that_cannot_be_squared_is_refused_or_fitted(formula: str) -> None:
    wide = table(1.0).assign(users=lambda t: t["users"] * 1e299)
    if "log" in formula:
        assert fit_formulas(wide, [formula]).models[0].fit.summary.n == 32
        return
    with pytest.raises(DataError, match=r"Change its unit|has no finite value there"):
        fit_formulas(wide, [formula])
