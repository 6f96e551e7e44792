"""Models against what libraries and a second, slower computation say."""

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.multivariate.manova import MANOVA
from statsmodels.stats.diagnostic import acorr_ljungbox, het_breuschpagan
from statsmodels.stats.outliers_influence import OLSInfluence

from patternbench.analyze.models.diagnostics import (
    anderson_darling_test,
    breusch_pagan_test,
    henze_zirkler_test,
    ljung_box_test,
)
from patternbench.analyze.models.fit import Settings, fit_formulas
from patternbench.analyze.models.linear import factorize
from patternbench.analyze.models.manova import hotelling_lawley
from patternbench.analyze.models.robust import hc3
from patternbench.analyze.models.words import effects, headline, statistics, warnings
from patternbench.terms.data_problems import DataError

STUDIES = Path(__file__).parents[3] / "studies" / "published"


def load_study(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, STUDIES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


FORMULA = "p95 ~ users + C(strategy)"


def runs(seed: int = 3, rounds: int = 8, noise: float = 2.0, block_noise: float = 0.0) -> pd.DataFrame:
    """Three strategies by four loads, ``rounds`` rounds each; one block per round."""
    rng = np.random.default_rng(seed)
    rows = [(u, s, b) for b in range(rounds) for u in (10, 20, 40, 80) for s in ("baseline", "breaker", "retry")]
    table = pd.DataFrame(rows, columns=["users", "strategy", "block"])
    shift = table["strategy"].map({"baseline": 0.0, "breaker": -5.0, "retry": 8.0})
    blocks = rng.normal(0, block_noise, rounds)[table["block"]] if block_noise else 0.0
    table["p95"] = 40 + 0.5 * table["users"] + shift + rng.normal(0, noise, len(table)) + blocks
    table["failure_rate"] = 5 + 0.02 * table["users"] - 0.2 * shift + rng.normal(0, 1, len(table))
    return table


def test_robust_errors_are_those_of_statsmodels() -> None:
    table = runs()
    expected = smf.ols(FORMULA, table).fit().get_robustcov_results("HC3").bse
    fit = fit_formulas(table, [FORMULA]).models[0].fit
    by_name = dict(zip(fit.design.columns, np.sqrt(np.diag(hc3(fit).covariance)), strict=True))
    names = list(smf.ols(FORMULA, table).exog_names)
    assert [by_name[name] for name in names] == pytest.approx(expected)


def test_influence_is_that_of_statsmodels() -> None:
    table = runs()
    expected = OLSInfluence(smf.ols(FORMULA, table).fit())
    found = fit_formulas(table, [FORMULA]).models[0].influence
    assert found.studentized == pytest.approx(expected.resid_studentized_external)
    assert found.cooks == pytest.approx(expected.cooks_distance[0])
    assert found.leverage == pytest.approx(expected.hat_matrix_diag)


def test_breusch_pagan_and_ljung_box_are_those_of_statsmodels() -> None:
    fit = fit_formulas(runs(), [FORMULA]).models[0].fit
    assert breusch_pagan_test(fit.residuals, factorize(fit.design).q).p == pytest.approx(
        het_breuschpagan(fit.residuals, fit.design.x)[1]
    )
    assert ljung_box_test(fit.residuals, 4).p == pytest.approx(
        acorr_ljungbox(fit.residuals, lags=[4])["lb_pvalue"].iloc[0]
    )


def test_marginal_manova_is_that_of_statsmodels() -> None:
    table = runs()
    expected = MANOVA.from_formula("p95 + failure_rate ~ users + C(strategy)", table).mv_test().results
    found = {
        t.term: t
        for t in fit_formulas(table, ["p95 + failure_rate ~ users + C(strategy)"]).multivariate[0].tests
        if t.kind == "marginal"
    }
    for term in ("users", "C(strategy)"):
        stat = expected[term]["stat"]
        assert found[term].statistics["pillai"].value == pytest.approx(stat.loc["Pillai's trace", "Value"])
        assert found[term].statistics["wilks"].p == pytest.approx(stat.loc["Wilks' lambda", "Pr > F"])


def test_each_row_left_out_gives_the_model_that_a_refit_gives() -> None:
    table = runs(rounds=3)
    table.loc[[3, 17, 30], "p95"] += [60, 40, -30]
    result = fit_formulas(table, [FORMULA]).models[0]
    assert {row.row for row in result.suspicious} >= {4, 18}
    assert any(row.moves for row in result.suspicious)
    for row in result.suspicious:
        assert row.values["strategy"] == table.loc[row.row - 1, "strategy"]
        refit = fit_formulas(table.drop(index=row.row - 1), [FORMULA]).models[0].fit
        assert row.adj_r2_without == pytest.approx(refit.summary.adj_r2)
        assert row.sigma_without == pytest.approx(refit.summary.sigma)
        for name, (_, without) in row.moves.items():
            assert without == pytest.approx({c.name: c.estimate for c in refit.coefficients}[name])


def test_cross_validation_predicts_each_scenario_from_a_refit_without_it() -> None:
    table = runs(rounds=3)
    validation = fit_formulas(table, [FORMULA]).models[0].cross_validation
    expected = np.empty(len(table))
    for _, rows in table.groupby(["users", "strategy"]).groups.items():
        model = smf.ols(FORMULA, table.drop(index=rows)).fit()
        expected[rows] = table.loc[rows, "p95"] - model.predict(table.loc[rows])
    assert validation.residuals == pytest.approx(expected)
    assert validation.scenarios == 12
    assert validation.errors.mae == pytest.approx(np.abs(expected).mean())


def test_a_scenario_that_alone_carries_a_level_is_counted_not_guessed() -> None:
    table = runs(rounds=3)
    lonely = table.iloc[[0, 1]].assign(strategy="hedge", users=10)
    validation = fit_formulas(pd.concat([table, lonely], ignore_index=True), [FORMULA]).models[0].cross_validation
    assert validation.unscored == 2
    assert np.isnan(validation.residuals[-2:]).all()


def test_mape_does_not_exist_where_a_measured_value_is_zero() -> None:
    table = runs()
    table.loc[0, "failure_rate"] = 0.0
    errors = fit_formulas(table, ["failure_rate ~ users"]).models[0].errors
    assert errors.mape is None
    assert "Read MAE" in errors.note


def test_the_error_of_a_logged_response_is_counted_on_its_own_scale() -> None:
    table = runs(noise=0.001)
    table["p95"] = 100 * 2 ** (table["users"] / 40)
    table.loc[0, "p95"] *= 1.01
    model = fit_formulas(table, ["log2(p95) ~ users"]).models[0]
    gaps = np.abs(table["p95"] - 2**model.fit.fitted)
    assert model.errors.mae == pytest.approx(gaps.mean())
    assert model.errors.mae > 50 * np.abs(model.fit.residuals).mean(), "in logs it would be far smaller"


def test_unequal_spread_brings_robust_errors() -> None:
    table = runs()
    rng = np.random.default_rng(5)
    table["p95"] = 40 + table["users"] * (1 + rng.normal(0, 0.3, len(table)))
    kinds = [r.kind for r in fit_formulas(table.drop(columns="block"), ["p95 ~ users"]).models[0].remedies]
    assert "hc3" in kinds


def test_skewed_residuals_bring_the_log_response() -> None:
    table = runs()
    rng = np.random.default_rng(5)
    table["p95"] = np.exp(1 + table["users"] / 40 + rng.normal(0, 0.8, len(table)))
    found = {r.kind: r for r in fit_formulas(table, ["p95 ~ users"]).models[0].remedies}
    assert "prefer it" in found["log_response"].text
    assert found["log_response"].numbers["anderson_darling_p"] > 0.05


def test_rows_that_resemble_their_block_bring_a_mixed_model() -> None:
    result = fit_formulas(runs(rounds=12, block_noise=6.0), ["p95 ~ users"]).models[0]
    mixed = next(r for r in result.remedies if r.kind == "mixed_model")
    assert mixed.numbers["share"] > 0.5


def test_without_a_grouping_column_the_dependence_is_said_with_what_to_type() -> None:
    table = runs(rounds=12, block_noise=6.0).drop(columns="block").assign(started=range(144))
    texts = [r.text for r in fit_formulas(table, [FORMULA]).models[0].remedies]
    assert any("--group block" in text for text in texts)


def test_henze_zirkler_on_many_rows_samples_and_says_so() -> None:
    rows = np.random.default_rng(1).normal(size=(5000, 2))
    test = henze_zirkler_test(rows, np.random.default_rng(2))
    assert test.note == "On 2,000 rows drawn at random of 5,000."
    assert test.holds


def test_henze_zirkler_sees_skewed_pairs() -> None:
    rows = np.random.default_rng(1).exponential(size=(200, 2))
    test = henze_zirkler_test(rows, np.random.default_rng(2))
    assert test.p is not None
    assert test.p < 1e-6


def test_a_column_that_does_not_exist_is_refused_as_group() -> None:
    with pytest.raises(DataError, match="--group: no column is called blok"):
        fit_formulas(runs(), [FORMULA], Settings(group="blok"))


def test_the_effect_of_doubling_is_put_in_percent() -> None:
    table = runs(noise=0.001)
    table["p95"] = 100 * table["users"] ** -0.5 * np.exp(np.random.default_rng(1).normal(0, 0.001, len(table)))
    sentence = effects(fit_formulas(table, ["log(p95) ~ log(users)"]).models[0])[0].sentence
    assert sentence.startswith("Doubling users cuts p95 by 29.3 %")


def of_noise(margin: float | None) -> str:
    noise = np.random.default_rng(1).permutation(np.resize([1, 2, 4, 3], 96))
    table = runs(seed=4).assign(noise=noise)
    return effects(fit_formulas(table, ["p95 ~ noise + users + strategy"], Settings(margin=margin)).models[0])[
        0
    ].sentence


def test_an_interval_around_zero_cannot_be_told_and_is_never_called_no_effect() -> None:
    assert of_noise(None).startswith("Raising noise from 1 to 4: its effect on p95 is inconclusive (between")
    assert "is inconclusive" in of_noise(0.1)


def test_equality_is_said_only_within_a_margin_that_was_asked_about() -> None:
    assert of_noise(20.0).startswith("Raising noise from 1 to 4: it changes p95 by less than 20 % (between")


@pytest.mark.slow
def test_a_change_as_large_as_the_margin_is_called_smaller_in_at_most_five_of_a_hundred_tables() -> None:
    message = 0
    for seed in range(400):
        rng = np.random.default_rng(seed)
        table = pd.DataFrame({"new": np.resize([0, 1], 40)})
        table["y"] = 100 + 5 * table["new"] + rng.normal(0, 3, 40)
        result = fit_formulas(table, ["y ~ new"], Settings(margin=5.0)).models[0]
        message += "by less than" in effects(result)[0].sentence
    assert message <= 20


def test_a_model_that_explains_nothing_says_so_without_a_negative_percentage() -> None:
    table = runs(seed=2).assign(noise=lambda t: np.resize([-1.0, 1.0, 1.0, -1.0], len(t)))
    table["failure_rate"] = 5 + np.random.default_rng(5).permutation(np.resize([-0.1, 0.1], 96))
    model = fit_formulas(table, ["failure_rate ~ noise"]).models[0]
    assert model.fit.summary.adj_r2 < 0
    message = headline(model).split("It misses")[0]
    assert message.startswith("The model explains nothing of the variance of failure_rate (adjusted R2 -0.0")
    assert "%" not in message


def test_rows_are_left_out_where_no_factor_values_repeat() -> None:
    table = runs().assign(cpu=np.random.default_rng(1).normal(size=96))
    result = fit_formulas(table, ["p95 ~ users + cpu"]).models[0]
    assert result.cross_validation.note == "96 rows, rows dealt into 10 folds."
    assert "on rows it has not seen" in headline(result)
    assert "on scenarios it has not seen" in headline(fit_formulas(runs(), [FORMULA]).models[0])


def test_interactions_and_squares_that_are_not_centred_raise_no_alarm_of_collinearity() -> None:
    table = runs().assign(users=lambda t: t["users"] + 500)
    kinds = [n.kind for n in fit_formulas(table, ["p95 ~ users * strategy + I(users**2)"]).models[0].notes]
    assert "collinear" not in kinds
    twin = table.assign(twin=table["users"] + np.random.default_rng(1).normal(0, 0.5, 96))
    assert "collinear" in [n.kind for n in fit_formulas(twin, ["p95 ~ users + twin"]).models[0].notes]


def test_the_numbers_next_to_a_mixed_model_are_its_own() -> None:
    result = fit_formulas(runs(rounds=12, block_noise=6.0), ["p95 ~ users"]).models[0]
    assert "AIC" not in statistics(result)
    assert "Marginal R2" in statistics(result)
    assert "marginal R2" in headline(result)
    assert "AIC" in statistics(fit_formulas(runs().drop(columns="block"), [FORMULA]).models[0])


def test_all_rows_that_stand_out_are_named_with_the_columns_that_tell_them_apart() -> None:
    study = load_study("refit_2021")
    result = study.refit(study.read_table(study.TABLE))[1]
    text = next(warning for warning in warnings(result) if "stand out" in warning)
    for row in result.suspicious:
        assert f"row {row.row} (request_bundle" in text
    last = next(row for row in result.suspicious if row.row == 27)
    assert last.identity == {"request_bundle": "Y", "method": "Create", "size": 40}


def test_a_response_that_is_the_same_to_the_digit_in_two_rows_is_noticed() -> None:
    study = load_study("refit_2021")
    notes = [note.text for note in study.refit(study.read_table(study.TABLE))[1].notes if note.kind == "repeated"]
    assert len(notes) == 1
    assert "rows 26, 27" in notes[0]


def test_rounded_responses_repeat_by_chance_and_raise_no_suspicion() -> None:
    table = runs().assign(p95=lambda t: t["p95"].round(0))
    assert "repeated" not in [note.kind for note in fit_formulas(table, [FORMULA]).models[0].notes]


def test_hotelling_lawley_has_the_f_and_the_degrees_of_freedom_of_R() -> None:
    # stats:::HL: s = min(p, q), m = (|p - q| - 1) / 2, n = (v - p - 1) / 2; F = 2 (s n + 1) T / (s^2 (2 m + s + 1)).
    # Two responses, 5 df of the term, 12 residual ones: s = 2, m = 1, n = 4.5, so F on 10 and 20 degrees of freedom.
    found = hotelling_lawley(1.5, responses=2, df=5, df_residual=12)
    assert (found.df_numerator, found.df_denominator) == (10, 20)
    assert found.f == pytest.approx(20 * 1.5 / (2 * 10))
    # one response: T is the ratio of sums of squares, and F the F test of analysis of variance
    single = hotelling_lawley(0.8, responses=1, df=3, df_residual=20)
    assert (single.f, single.df_numerator, single.df_denominator) == (pytest.approx(0.8 / 3 * 20), 3, 20)


def test_a_table_of_few_rows_is_tested_at_whatever_degrees_of_freedom_it_leaves() -> None:
    drawn = np.random.default_rng(2)
    for rows in (8, 9, 10, 11):
        table = pd.DataFrame(drawn.normal(size=(rows, 5)), columns=["p50", "failures", "users", "limit", "size"])
        (together,) = fit_formulas(table, ["p50 + failures ~ users + limit + size"]).multivariate
        values = [test.statistics[name] for test in together.tests for name in ("pillai", "wilks", "hotelling_lawley")]
        assert np.isfinite([[one.value, one.f, one.p] for one in values]).all(), rows


def test_the_headline_tells_seen_from_unseen() -> None:
    assert "scenarios it has not seen" in headline(fit_formulas(runs(), [FORMULA]).models[0])


# --- properties
# -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000))
def test_permuting_rows_changes_no_coefficient_and_no_cross_validated_error(seed: int) -> None:
    table = runs(rounds=3)
    shuffled = table.sample(frac=1, random_state=seed).reset_index(drop=True)
    a, b = (fit_formulas(t, [FORMULA]).models[0] for t in (table, shuffled))
    assert a.fit.beta == pytest.approx(b.fit.beta)
    assert a.cross_validation.errors.mae == pytest.approx(b.cross_validation.errors.mae)


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(st.floats(1e-3, 1e3))
def test_scaling_a_column_scales_its_coefficient_and_nothing_else(scale: float) -> None:
    table = runs(rounds=3)
    scaled = table.assign(users=table["users"] * scale)
    a, b = (fit_formulas(t, [FORMULA]).models[0].fit for t in (table, scaled))
    place = a.design.columns.index("users")
    assert a.beta[place] == pytest.approx(b.beta[place] * scale)
    assert a.fitted == pytest.approx(b.fitted)
    assert a.summary.f_p == pytest.approx(b.summary.f_p)


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.floats(2.0, 20.0))
def test_adding_noise_widens_the_intervals(seed: int, factor: float) -> None:
    quiet, loud = (fit_formulas(runs(seed=seed, noise=s), [FORMULA]).models[0].fit for s in (1.0, factor))
    for a, b in zip(quiet.coefficients, loud.coefficients, strict=True):
        assert b.ci_high - b.ci_low > a.ci_high - a.ci_low


@pytest.mark.slow
def test_coefficient_intervals_hold_the_truth_as_often_as_they_say() -> None:
    covered = 0
    for seed in range(1000):
        c = {
            c.name: c
            for c in fit_formulas(runs(seed=seed, rounds=2), ["p95 ~ users + C(strategy)"]).models[0].fit.coefficients
        }
        covered += c["users"].ci_low <= 0.5 <= c["users"].ci_high
    assert 930 <= covered <= 970


@pytest.mark.slow
def test_the_published_coefficients_of_2023_come_back_within_their_standard_errors() -> None:
    study = load_study("generate_2023")
    analysis = fit_formulas(study.generate(rounds=50), study.FORMULAS)
    for model in analysis.models:
        # 46 coefficients are looked at together: 4 standard errors are exceeded by chance once in
        # 350 such looks
        assert max(abs(far) for far in study.distances(model).values()) < 4
    full = analysis.models[0].fit.summary.adj_r2, analysis.models[1].fit.summary.adj_r2
    assert full == pytest.approx((0.2452, 0.5925), abs=0.02)
    assert "Pillai" in analysis.multivariate[0].recommended


def test_the_2021_table_names_its_misprinted_row() -> None:
    study = load_study("refit_2021")
    models = study.refit(study.read_table(study.TABLE))
    found = study.suspects(models)
    assert [one.row for one in found] == [27, 10]
    assert found[0].solved == pytest.approx(1565, abs=1)
    assert 27 in [row.row for row in models[1].suspicious]


def test_the_page_on_the_2021_paper_is_what_its_command_writes() -> None:
    study = load_study("refit_2021")
    page = study.PAGE.read_text()
    assert page == study.written(page, "\n".join(study.report(study.read_table(study.TABLE))))


def test_with_two_times_solved_the_2021_paper_is_reproduced() -> None:
    study = load_study("refit_2021")
    table = study.read_table(study.TABLE)
    times = table["total_time"].astype(float)
    times.iloc[[26, 9]] = [1565.0, 354.0]
    models = study.refit(table.assign(total_time=times))
    for i, published in study.PUBLISHED.items():
        assert models[i].fit.summary.adj_r2 == pytest.approx(published.adj_r2, abs=2e-4)
        assert models[i].tests[0].p == pytest.approx(published.jarque_bera, abs=0.02)
    assert study.ljung_box_lag(models)[0] == 10
    assert models[1].errors.mape == pytest.approx(16, abs=0.5)


def test_residuals_of_one_size_tell_nothing_of_equal_variance() -> None:
    test = breusch_pagan_test(np.tile([-1.0, 1.0], 6), np.linalg.qr(np.eye(12)[:, :2])[0])
    assert (test.p, test.note) == (None, "Not tested: all residuals are of one size.")


def test_a_response_that_every_row_of_a_group_repeats_is_fitted_without_a_division_by_zero() -> None:
    drawn = np.random.default_rng(1)
    table = pd.DataFrame({"round": np.repeat(np.arange(60), 4), "method": ["get", "create", "update", "delete"] * 60})
    table["limit"] = np.repeat(drawn.integers(1, 13, 60), 4)
    table["failures"] = table["limit"] / 4 + np.repeat(np.round(drawn.normal(0, 1, 60), 2), 4)
    (model,) = fit_formulas(table, ["failures ~ limit + method"], Settings(group="round")).models
    limit = next(one for one in model.coefficients if one.name == "limit")
    assert limit.ci_low < 0.25 < limit.ci_high
    plain = next(one for one in model.fit.coefficients if one.name == "limit")
    assert limit.std_error > 1.5 * plain.std_error, "240 rows are 60 observations"


def test_a_response_that_one_row_carries_is_fitted_without_a_division_by_zero() -> None:
    frame = pd.DataFrame({"y": [0.0] * 11 + [1.0], "x": np.random.default_rng(1).normal(size=12)})
    row = fit_formulas(frame, ["y ~ x"]).models[0].suspicious[0]
    assert (row.row, row.adj_r2_without) == (12, None)


def test_errors_are_in_percent_only_where_those_of_rows_not_seen_are_too() -> None:
    """A measured zero has no error in percent: rows that the model saw may have one, and those left out none."""
    result = fit_formulas(runs(), [FORMULA]).models[0]
    errors = replace(result.cross_validation.errors, mape=None)
    message = headline(replace(result, cross_validation=replace(result.cross_validation, errors=errors)))
    assert "It misses" in message
    assert "%" not in message.split("It misses")[1]
    assert "%" in headline(result).split("It misses")[1]


def test_the_tails_of_residuals_are_weighed_around_their_own_mean() -> None:
    residuals = np.append(np.random.default_rng(1).normal(0, 1e-3, 200), 1.0)
    found = [anderson_darling_test(residuals + shift) for shift in (0.0, 3.0, -40.0)]
    assert all(np.isfinite(float(one.statistic or np.nan)) for one in found)
    assert [one.statistic for one in found] == pytest.approx([found[0].statistic] * 3)


def test_the_log_of_a_response_that_is_computed_or_has_an_odd_name_is_tried_like_any_other() -> None:
    table = runs()
    rng = np.random.default_rng(5)
    table["p95"] = np.exp(1 + table["users"] / 40 + rng.normal(0, 0.8, len(table)))
    table["p95 ~ ms"] = table["p95"]
    plain = remedy_of(table, "p95 ~ users + C(strategy)")
    for formula, log in (
        ("I(2*p95) ~ users + C(strategy)", "log(I(2 * p95))"),
        ("sqrt(p95) ~ users + C(strategy)", "log(sqrt(p95))"),
        ("`p95 ~ ms` ~ users + C(strategy)", "log(`p95 ~ ms`)"),
    ):
        found = remedy_of(table, formula)
        assert f"prefer it, '{log} ~ ...'" in found.text
        # A factor moves a log, and a root halves it: neither changes what is normal.
        assert found.numbers["anderson_darling"] == pytest.approx(plain.numbers["anderson_darling"])


def remedy_of(table: pd.DataFrame, formula: str) -> Any:
    return {r.kind: r for r in fit_formulas(table, [formula]).models[0].remedies}["log_response"]


def test_a_response_that_is_a_factor_in_other_words_is_fitted_and_said_to_be_one() -> None:
    model = fit_formulas(runs(), ["I(2*users) ~ users"]).models[0]
    assert any(note.kind == "exact_fit" and "the response in other words" in note.text for note in model.notes)
