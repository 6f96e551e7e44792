"""Least squares by blocks of rows against those of the whole table, ours and statsmodels'."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from patternbench.analyze.blocks import InMemory
from patternbench.analyze.models.by_blocks import estimates
from patternbench.analyze.models.fit import fit_formulas
from patternbench.cli.fit import fit
from patternbench.records import tables
from patternbench.terms.data_problems import DataError


def table(seed: int, rows: int) -> pd.DataFrame:
    """A table with two categories, a clock near 1e9, and a response of all of them."""
    rng = np.random.default_rng(seed)
    made = pd.DataFrame(
        {
            "users": rng.integers(1, 100, rows).astype(float),
            "clock": 1.7e9 + rng.random(rows) * 100,
            "strategy": rng.choice(["baseline", "retry", "breaker"], rows),
            "client": rng.choice(["a", "b"], rows),
        }
    )
    noise = rng.normal(size=rows)
    late = made["clock"] - 1.7e9
    made["p95"] = 20 + 0.3 * made["users"] + 0.1 * late + 4 * (made["strategy"] == "retry") + noise
    return made.assign(rate=np.abs(made["p95"] + rng.normal(size=rows)) + 1)


@settings(deadline=None, max_examples=15)
@given(st.integers(0, 2**32 - 1), st.sampled_from([12, 40, 300]), st.sampled_from([1, 7, 50, 1000]))
def test_estimates_by_blocks_are_those_of_statsmodels(seed: int, rows: int, block: int) -> None:
    frame = table(seed, rows)
    (found,) = estimates(InMemory(frame, block), "p95 ~ users + C(strategy) * client", 0.9)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a combination that no row has
        theirs = smf.ols("p95 ~ users + C(strategy) * client", frame).fit()
    if "aliased" in {note.kind for note in found.notes}:
        assert found.summary.r2 == pytest.approx(theirs.rsquared)
        return
    assert len(found.coefficients) == len(theirs.params)
    for one in found.coefficients:
        name = one.name
        low, high = theirs.conf_int(0.1).loc[name]
        wanted = [theirs.params[name], theirs.bse[name], low, high, theirs.tvalues[name], theirs.pvalues[name]]
        assert [one.estimate, one.std_error, one.ci_low, one.ci_high, one.t, one.p] == pytest.approx(
            wanted, rel=1e-7, abs=1e-9
        )
    summary = found.summary
    assert [summary.r2, summary.adj_r2, summary.f, summary.sigma] == pytest.approx(
        [theirs.rsquared, theirs.rsquared_adj, theirs.fvalue, theirs.scale**0.5]
    )


def test_estimates_by_blocks_are_those_of_fit_where_a_column_is_near_a_thousand_million() -> None:
    frame, formula = table(2, 400), "log(p95) + rate ~ users + clock + C(strategy) + client"
    whole = fit_formulas(frame, [formula]).models
    for found, one in zip(estimates(InMemory(frame, 37), formula), whole, strict=True):
        assert found.response == one.fit.response
        for mine, theirs in zip(found.coefficients, one.fit.coefficients, strict=True):
            assert mine.name == theirs.name
            numbers = (mine.estimate, mine.std_error, mine.t, mine.p, mine.vif or 0)
            wanted = (theirs.estimate, theirs.std_error, theirs.t, theirs.p, theirs.vif or 0)
            assert numbers == pytest.approx(wanted, rel=1e-6)
        for name in ("n", "df_model", "df_residual", "r2", "adj_r2", "f", "aic", "bic", "log_likelihood", "sigma"):
            assert getattr(found.summary, name) == pytest.approx(getattr(one.fit.summary, name), rel=1e-7), name


def test_a_design_without_an_intercept_is_estimated_around_zero() -> None:
    frame = table(3, 200)
    (found,) = estimates(InMemory(frame, 64), "p95 ~ 0 + users + client")
    (whole,) = fit_formulas(frame, ["p95 ~ 0 + users + client"]).models
    assert [one.estimate for one in found.coefficients] == pytest.approx([c.estimate for c in whole.fit.coefficients])
    assert found.summary.r2 == pytest.approx(whole.fit.summary.r2)


def test_incomplete_rows_and_columns_that_others_explain_are_left_out_with_a_note() -> None:
    frame = table(4, 100).assign(twice=lambda t: 2 * t["users"])
    frame.loc[[3, 50], "users"] = np.nan
    (found,) = estimates(InMemory(frame, 9), "p95 ~ users + twice")
    assert found.summary.n == 98
    assert [note.kind for note in found.notes] == ["missing", "aliased"]
    assert found.notes[0].text == "2 rows left out: users lacks 2 values."


@pytest.mark.parametrize(
    ("formula", "said"),
    [
        ("p95 ~ nobody", "no column is called nobody"),
        ("p95 ~ users + (1 | client)", "random part"),
        ("log(zero) ~ users", "no finite value"),
        ("p95 ~ 1", "names no factor"),
    ],
)
def test_what_cannot_be_estimated_by_blocks_is_refused(formula: str, said: str) -> None:
    frame = table(5, 30).assign(zero=0.0)
    with pytest.raises(DataError, match=said):
        estimates(InMemory(frame, 8), formula)


def test_fit_prints_estimates_of_a_file_that_it_reads_in_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "BLOCK", 16)
    path = tmp_path / "table.parquet"
    table(6, 90).to_parquet(path)
    done = CliRunner().invoke(fit, [str(path), "--formula", "p95 + rate ~ users + strategy", "--estimates"])
    assert done.exit_code == 0, done.output
    assert "strategy[T.retry]" in done.output
    assert done.output.count("residual standard error") == 2


def test_estimates_by_blocks_have_neither_json_nor_page(tmp_path: Path) -> None:
    path = tmp_path / "table.parquet"
    table(6, 90).to_parquet(path)
    asked = [str(path), "--formula", "p95 ~ users", "--estimates", "--json", "--html", str(tmp_path / "page.html")]
    done = CliRunner().invoke(fit, asked)
    assert done.exit_code == 2
    assert "--json: needs a look at each row" in done.output
    assert not (tmp_path / "page.html").exists()
