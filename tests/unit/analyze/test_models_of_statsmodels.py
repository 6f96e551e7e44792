"""On random designs every number is what statsmodels says when it decomposes the design by itself.

Ours is given the design's orthonormal columns, theirs its columns in the units of the table.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.regression.linear_model import OLS, RegressionResults
from statsmodels.stats.diagnostic import acorr_ljungbox, het_breuschpagan
from statsmodels.stats.outliers_influence import OLSInfluence

from patternbench.analyze.models.diagnostics import breusch_pagan_test, jarque_bera_test, ljung_box_test
from patternbench.analyze.models.fit import fit_formulas
from patternbench.analyze.models.influence import Influence
from patternbench.analyze.models.linear import LinearFit, factorize, plain_inference
from patternbench.analyze.models.robust import hc3

FORMULAS = (
    "y ~ a",
    "y ~ 0 + a + b",
    "y ~ a + b + C(k)",
    "y ~ a * C(k)",
    "y ~ 0 + C(k) + a",
    "y ~ a + near",
    "y ~ a + twin",
)


def drawn(seed: int, rows: int, size: float) -> pd.DataFrame:
    """Numbers of any size, few levels, a column that is nearly another one, and one that is exactly twice it."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"a": rng.integers(1, 6, rows).astype(float), "b": rng.normal(0, size, rows)})
    table["a"] += rng.normal(0, 0.3, rows)
    table["k"] = rng.permutation(np.resize(list("uvw"), rows))
    table["near"], table["twin"] = table["a"] + rng.normal(0, 1e-2, rows), 2 * table["a"]
    table["y"] = size * (3 + 0.5 * table["a"] + rng.normal(0, 1, rows) * rng.choice([1, 4], rows))
    return table


def of_both(seed: int, rows: int, size: float, formula: str) -> tuple[LinearFit, RegressionResults]:
    """Our fit, and theirs of the same columns without the exact twin, which only adds rounding."""
    table = drawn(seed, rows, size)
    fit = fit_formulas(table, [formula]).models[0].fit
    theirs = OLS(fit.y, fit.design.x, hasconst=fit.design.intercept).fit()
    return fit, theirs


designs = given(
    st.integers(0, 10_000), st.integers(9, 60), st.sampled_from([1e-6, 1.0, 1e6]), st.sampled_from(FORMULAS)
)


@settings(max_examples=40, deadline=None)
@designs
def test_a_fit_and_its_coefficients_are_theirs(seed: int, rows: int, size: float, formula: str) -> None:
    fit, theirs = of_both(seed, rows, size, formula)
    found = np.array([[c.estimate, c.std_error, c.ci_low, c.ci_high] for c in fit.coefficients])
    expected = np.column_stack([theirs.params, theirs.bse, theirs.conf_int()])
    assert found == pytest.approx(expected, rel=1e-6, abs=1e-7 * np.abs(expected).max())
    assert [c.p for c in fit.coefficients] == pytest.approx(theirs.pvalues, rel=1e-5, abs=1e-12)
    ours = fit.summary
    assert (ours.r2, ours.adj_r2) == pytest.approx((theirs.rsquared, theirs.rsquared_adj), abs=1e-9)
    assert (ours.f, ours.f_p) == pytest.approx((theirs.fvalue, theirs.f_pvalue), rel=1e-6, abs=1e-12)
    assert ours.log_likelihood == pytest.approx(theirs.llf)
    assert ours.aic == pytest.approx(theirs.aic + 2), "the residual variance is a parameter"
    assert ours.bic == pytest.approx(theirs.bic + np.log(ours.n))
    assert plain_inference(fit).covariance == pytest.approx(
        theirs.cov_params(), rel=1e-6, abs=1e-7 * expected.max() ** 2
    )


@settings(max_examples=25, deadline=None)
@designs
def test_robust_errors_and_influence_are_theirs(seed: int, rows: int, size: float, formula: str) -> None:
    fit, theirs = of_both(seed, rows, size, formula)
    expected = np.sqrt(np.diag(theirs.get_robustcov_results("HC3").cov_params()))
    assert np.sqrt(np.diag(hc3(fit).covariance)) == pytest.approx(expected, rel=1e-5)
    found, judged = Influence(fit), OLSInfluence(theirs)
    assert found.leverage == pytest.approx(judged.hat_matrix_diag)
    assert found.standardized == pytest.approx(judged.resid_studentized_internal, abs=1e-7)
    assert found.studentized == pytest.approx(judged.resid_studentized_external, rel=1e-6, abs=1e-7)
    assert found.cooks == pytest.approx(judged.cooks_distance[0], rel=1e-6, abs=1e-9)


@settings(max_examples=25, deadline=None)
@designs
def test_the_tests_of_residuals_are_theirs(seed: int, rows: int, size: float, formula: str) -> None:
    fit, _ = of_both(seed, rows, size, formula)
    assert jarque_bera_test(fit.residuals).p == pytest.approx(stats.jarque_bera(fit.residuals).pvalue, rel=1e-6)
    lagged = acorr_ljungbox(fit.residuals, lags=[4]).iloc[0]
    found = ljung_box_test(fit.residuals, 4)
    assert (found.statistic, found.p) == pytest.approx((lagged["lb_stat"], lagged["lb_pvalue"]), rel=1e-6)
    if fit.design.intercept:
        expected = het_breuschpagan(fit.residuals / fit.summary.sigma, fit.design.x)
        assert breusch_pagan_test(fit.residuals, factorize(fit.design).q).p == pytest.approx(expected[1], rel=1e-5)


def test_a_row_that_alone_carries_a_level_adds_nothing_to_robust_errors() -> None:
    """Its residual is zero but for rounding, and so is what is divided by it."""
    table = drawn(1, 30, 1.0)
    table.loc[0, "k"] = "alone"
    fit = fit_formulas(table, ["y ~ a + C(k)"]).models[0].fit
    rest = smf.ols("y ~ a + C(k)", table.iloc[1:]).fit().get_robustcov_results("HC3")
    place, theirs = fit.design.columns.index("a"), list(rest.model.exog_names).index("a")
    assert np.sqrt(hc3(fit).covariance[place, place]) == pytest.approx(rest.bse[theirs])
    assert fit.leverage[0] == pytest.approx(1)
    assert Influence(fit).cooks[0] == 0


def test_a_model_without_any_residual_is_fitted_without_a_division_by_zero() -> None:
    table = pd.DataFrame({"x": [0.0, 0.0, 1.0, 1.0, 0.0, 1.0], "y": [1.0, 1.0, 3.0, 3.0, 1.0, 3.0]})
    fit = fit_formulas(table, ["y ~ x"]).models[0].fit
    assert [c.estimate for c in fit.coefficients] == pytest.approx([1, 2])
    assert fit.summary.r2 == pytest.approx(1)
    assert np.isfinite(Influence(fit).cooks).all()
