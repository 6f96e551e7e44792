"""Effects of factors in interactions: a worked example, statsmodels, and the words."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf

from patternbench.analyze.models.contrasts import contrasts, entangled, fitted_at
from patternbench.analyze.models.fit import ModelResult, fit_formulas
from patternbench.analyze.models.words import effects
from patternbench.report.pages.model_figures import models_figure


def table(noise: float = 0.0) -> pd.DataFrame:
    """The response is 1 + 2 users - 30 retry + 0.5 users retry, and a factor that does nothing."""
    grid = pd.MultiIndex.from_product([range(8), [10, 20, 80], ["baseline", "retry"]], names=["i", "users", "strategy"])
    rows = grid.to_frame(index=False)
    retry = (rows["strategy"] == "retry").astype(float)
    rows["other"] = np.random.default_rng(2).permutation(np.resize([1.0, 2.0], len(rows)))
    spread = np.random.default_rng(1).normal(0, noise, len(rows)) if noise else np.resize([-0.01, 0.01], len(rows))
    rows["y"] = 1 + 2 * rows["users"] - 30 * retry + 0.5 * rows["users"] * retry + spread
    return rows


def model(formula: str, noise: float = 0.0) -> ModelResult:
    return fit_formulas(table(noise), [formula]).models[0]


def test_factors_in_several_terms_are_found_with_their_partners() -> None:
    assert entangled(model("y ~ users * strategy + other").fit.design) == {
        "users": ("strategy",),
        "strategy": ("users",),
    }
    assert entangled(model("y ~ users + I(users**2) + other").fit.design) == {"users": ()}
    assert entangled(model("y ~ users + strategy + other").fit.design) == {}


def test_a_category_is_reported_at_both_ends_of_the_number_it_interacts_with() -> None:
    found = list(contrasts(model("y ~ users * strategy"), "strategy", ("users",)))
    assert [dict(one.where) for one in found] == [{"users": 10.0}, {"users": 80.0}]
    assert [one.estimate for one in found] == pytest.approx([-25, 10], abs=0.05)


def test_a_number_is_reported_at_each_level_of_the_category_it_interacts_with() -> None:
    found = list(contrasts(model("y ~ users * strategy"), "users", ("strategy",)))
    assert [one.estimate for one in found] == pytest.approx([140, 175], abs=0.05)


def test_a_square_is_reported_over_the_whole_range() -> None:
    rows = table().assign(y=lambda t: 3 + 5 * t["users"] - 0.05 * t["users"] ** 2 + np.resize([-0.01, 0.01], len(t)))
    found = list(contrasts(fit_formulas(rows, ["y ~ users + I(users**2)"]).models[0], "users", ()))
    assert [one.estimate for one in found] == pytest.approx([5 * 70 - 0.05 * (80**2 - 10**2)], abs=0.05)


def test_intervals_are_those_of_statsmodels() -> None:
    found = next(one for one in contrasts(model("y ~ users * strategy", 9.0), "strategy", ("users",)) if one.where)
    other = smf.ols("y ~ users * strategy", table(9.0)).fit()
    expected = other.t_test("strategy[T.retry] + 10 * users:strategy[T.retry] = 0").conf_int()[0]
    assert (found.low, found.high) == pytest.approx(tuple(expected))


def test_the_words_hold_the_other_factor() -> None:
    sentences = [effect.sentence for effect in effects(model("y ~ users * strategy + other"))]
    assert any(s.startswith("strategy = retry instead of baseline at users = 10 cuts y by 25") for s in sentences)
    assert any(s.startswith("Raising users from 10 to 80 at strategy = retry raises y by 175") for s in sentences)
    assert sum("other" in s for s in sentences) == 1


@pytest.mark.parametrize("formula", ["y ~ users * strategy + other", "y ~ users + strategy + other"])
@pytest.mark.parametrize("unit", [0.0001, 1.0, 1000.0])
def test_an_effect_counts_as_shown_where_its_words_say_so_and_nowhere_else(formula: str, unit: float) -> None:
    rows = table(60.0)
    found = effects(fit_formulas(rows.assign(y=rows["y"] * unit), [formula]).models[0])
    assert [one.shown for one in found] == ["is inconclusive" not in one.sentence for one in found]
    assert {one.shown for one in found} == {True, False}


def test_models_are_drawn_next_to_each_other_flat_where_they_lack_the_factor() -> None:
    fitted = fit_formulas(table(1.0), ["y ~ users * strategy", "y ~ users", "y ~ strategy"]).models
    drawn = models_figure(fitted, ("users", "strategy"))
    assert drawn is not None
    rows = pd.DataFrame(next(iter(drawn["datasets"].values())))
    assert set(rows["panel"]) == {"strategy = baseline", "strategy = retry"}
    ends = rows.groupby(["model", "panel"])["expected"].agg(["first", "last"])
    assert (ends.loc["model 3", "first"] == ends.loc["model 3", "last"]).all()
    assert ends.loc[("model 2", "strategy = retry")].tolist() == ends.loc[("model 2", "strategy = baseline")].tolist()
    assert fitted_at(fitted[0], [{"users": 80, "strategy": "retry"}])[0][0] == pytest.approx(171, abs=2)


def test_no_model_that_holds_the_factor_as_a_number_is_no_picture() -> None:
    assert models_figure(fit_formulas(table(), ["y ~ strategy", "y ~ other"]).models, ("strategy", "users")) is None
