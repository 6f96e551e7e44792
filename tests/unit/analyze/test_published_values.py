"""Numbers that R, SAS and NIST print in public, and this package must print too.

Each was looked up where its comment says; what no public text prints is held against another library instead.
"""

import pandas as pd
import pytest
import statsmodels.api as sm
from sklearn.datasets import load_iris
from statsmodels.datasets import longley

from patternbench.analyze.models.diagnostics import henze_zirkler
from patternbench.analyze.models.fit import Analysis, fit_formulas

# R's dataset ``cars`` (Ezekiel 1930), as printed in its help page.
SPEED = (
    "4 4 7 7 8 9 10 10 10 11 11 12 12 12 12 13 13 13 13 14 14 14 14 15 15 15 16 16 17 "
    "17 17 18 18 18 18 19 19 19 20 20 20 20 20 22 23 24 24 24 24 25"
)
DIST = (
    "2 10 4 22 16 10 18 26 34 17 28 14 20 24 28 26 34 34 46 26 36 60 80 20 26 54 32 40 "
    "32 40 50 42 56 76 84 36 46 68 32 48 52 56 64 66 54 70 92 93 120 85"
)


def cars() -> pd.DataFrame:
    return pd.DataFrame({"speed": [int(v) for v in SPEED.split()], "dist": [int(v) for v in DIST.split()]})


def iris() -> pd.DataFrame:
    """Return Fisher's iris, with the species numbered 0 to 2."""
    table = load_iris(as_frame=True).frame
    table.columns = ["sepal_length", "sepal_width", "petal_length", "petal_width", "species"]
    return table


def coefficients(analysis: Analysis) -> dict[str, tuple[float, float]]:
    return {c.name: (c.estimate, c.std_error) for c in analysis.models[0].fit.coefficients}


def test_cars_gives_the_summary_that_R_prints() -> None:
    # summary(lm(dist ~ speed, cars)) as printed at r-statistics.co/Simple-Linear-Regression-in-R.html
    analysis = fit_formulas(cars(), ["dist ~ speed"])
    found, summary = coefficients(analysis), analysis.models[0].fit.summary
    assert found["Intercept"] == pytest.approx((-17.5791, 6.7584), abs=5e-5)
    assert found["speed"] == pytest.approx((3.9324, 0.4155), abs=5e-5)
    assert summary.r2 == pytest.approx(0.6511, abs=5e-5)
    assert summary.adj_r2 == pytest.approx(0.6438, abs=5e-5)
    assert summary.f == pytest.approx(89.57, abs=5e-3)
    assert summary.f_p == pytest.approx(1.49e-12, rel=1e-3)
    assert summary.sigma == pytest.approx(15.38, abs=5e-3)
    assert (summary.df_model, summary.df_residual) == (1, 48)


def test_cars_gives_the_AIC_and_BIC_that_R_prints() -> None:
    # AIC(linearMod) and BIC(linearMod) as printed at r-statistics.co/Linear-Regression.html; both count the residual
    # variance as a parameter
    summary = fit_formulas(cars(), ["dist ~ speed"]).models[0].fit.summary
    assert summary.aic == pytest.approx(419.1569, abs=5e-5)
    assert summary.bic == pytest.approx(424.8929, abs=5e-5)


def test_cars_gives_the_cooks_distances_of_statsmodels() -> None:
    found = fit_formulas(cars(), ["dist ~ speed"]).models[0].influence
    other = sm.OLS(cars()["dist"], sm.add_constant(cars()["speed"])).fit().get_influence()
    assert found.cooks == pytest.approx(other.cooks_distance[0])
    assert found.studentized == pytest.approx(other.resid_studentized_external)
    assert found.leverage == pytest.approx(other.hat_matrix_diag)


def test_longley_gives_the_certified_coefficients() -> None:
    # NIST Statistical Reference Datasets, linear regression, Longley: certified values (itl.nist.gov/div898/strd)
    table = longley.load_pandas().data
    table.columns = ["total", "deflator", "gnp", "unemployed", "armed", "population", "year"]
    analysis = fit_formulas(table, ["total ~ deflator + gnp + unemployed + armed + population + year"])
    certified = {
        "Intercept": (-3482258.63459582, 890420.383607373),
        "deflator": (15.0618722713733, 84.9149257747669),
        "gnp": (-0.358191792925910e-01, 0.334910077722432e-01),
        "unemployed": (-2.02022980381683, 0.488399681651699),
        "armed": (-1.03322686717359, 0.214274163161675),
        "population": (-0.511041056535807e-01, 0.226073200069370),
        "year": (1829.15146461355, 455.478499142212),
    }
    for name, pair in certified.items():
        assert coefficients(analysis)[name] == pytest.approx(pair, rel=1e-7), name
    assert analysis.models[0].fit.summary.f == pytest.approx(330.285339234588, rel=1e-8)
    assert analysis.models[0].fit.summary.r2 == pytest.approx(0.995479004577296, rel=1e-10)


def test_longley_gives_the_inflation_factors_that_R_prints() -> None:
    # vif() of the unpenalized fit of Employed on Longley's factors, as printed in the README of the R package genridge
    table = longley.load_pandas().data
    table.columns = ["total", "deflator", "gnp", "unemployed", "armed", "population", "year"]
    analysis = fit_formulas(table, ["total ~ deflator + gnp + unemployed + armed + population + year"])
    found = [c.vif for c in analysis.models[0].fit.coefficients[1:]]
    assert found == pytest.approx([135.53, 1788.51, 33.62, 3.59, 399.15, 758.98], abs=5e-3)
    assert "collinear" in [note.kind for note in analysis.models[0].notes]


@pytest.mark.parametrize(
    ("name", "value", "f"),
    [
        # summary(manova(cbind(Sepal.Length, Sepal.Width, Petal.Length, Petal.Width) ~ Species, iris)) as printed at
        # r-statistics.co/MANOVA-in-R.html; the other three as SAS prints them: proc glm; manova h=Species
        ("pillai", 1.1919, 53.466),
        ("wilks", 0.0234386, 199.145),
        # of this trace SAS and R print different F, by different approximations
        ("hotelling_lawley", 32.4773, None),
        ("roy", 32.1919, 1166.957),
    ],
)
def test_iris_gives_the_manova_that_R_and_SAS_print(name: str, value: float, f: float | None) -> None:
    formula = "sepal_length + sepal_width + petal_length + petal_width ~ C(species)"
    tests = fit_formulas(iris(), [formula]).multivariate[0].tests
    assert {t.kind for t in tests} == {"marginal", "sequential"}
    for test in tests:
        assert test.statistics[name].value == pytest.approx(value, rel=5e-4)
        assert f is None or test.statistics[name].f == pytest.approx(f, rel=5e-4)


def test_two_responses_of_iris_give_the_pillai_trace_that_R_prints() -> None:
    # summary(manova(cbind(Sepal.Length, Petal.Length) ~ Species, iris)) as printed in the tutorial of sthda.com on
    # MANOVA and in those that follow it
    found = fit_formulas(iris(), ["sepal_length + petal_length ~ C(species)"]).multivariate[0].tests[0]
    pillai = found.statistics["pillai"]
    assert (pillai.value, pillai.f) == pytest.approx((0.9885, 71.829), rel=5e-5)
    assert (pillai.df_numerator, pillai.df_denominator) == (4, 294)


def test_henze_zirkler_gives_what_the_R_package_MVN_prints_for_setosa() -> None:
    # Korkmaz, Goksuluk & Zararsiz, MVN: An R Package for Assessing Multivariate Normality, R Journal 6/2 (2014);
    # the MATLAB function HZmvntest (Trujillo-Ortiz et al. 2007) prints the same
    setosa = iris().query("species == 0").iloc[:, :4].to_numpy()
    statistic, p = henze_zirkler(setosa)
    assert statistic == pytest.approx(0.9488453, abs=5e-8)
    assert p == pytest.approx(0.04995356, abs=5e-9)
