"""Least squares by blocks of rows against those of the whole table, ours and statsmodels'."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.memory import most_traced

from patternbench.analyze.blocks import InMemory
from patternbench.analyze.models import by_blocks, first_look
from patternbench.analyze.models.by_blocks import estimates
from patternbench.analyze.models.fit import Settings, fit_formulas
from patternbench.analyze.models.formula import DesignMatrix, build_design
from patternbench.analyze.models.formula_text import parse_formula
from patternbench.analyze.models.linear import factorize, fit_linear
from patternbench.cli.fit import fit
from patternbench.records import tables
from patternbench.terms.data_problems import DataError
from patternbench.terms.factors import NOTHING_KNOWN, FactorTable


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
        ("log(zero) ~ users", r"row 12: log\(zero\) has no finite value"),
        ("p95 ~ 1", "names no factor"),
    ],
)
def test_what_cannot_be_estimated_by_blocks_is_refused(formula: str, said: str) -> None:
    frame = table(5, 30).assign(zero=[float(row != 11) for row in range(30)])
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


# --- the same model as of the whole table
# ----------------------------------------------------------------------------------------------------

KNOWN = FactorTable.of(
    [
        {"name": "strategy", "role": "pattern", "unit": "text", "none": "off"},
        {"name": "hedges", "role": "pattern", "unit": "count", "none": 3},
        {"name": "delay", "role": "client", "unit": "duration"},
    ]
)
FORMULAS = (
    "p95 ~ users + C(strategy) + delay",
    "p95 ~ strategy + C(hedges)",
    "p95 + rate ~ strategy * users + fixed + on",
    "log(p95) ~ client + C(digits) + strategy:client",
    "p95 ~ 0 + strategy + client + delay",
    "p95 ~ users * delay + strategy",
    "p95 ~ C(fixed) + client",
    "p95 ~ number + C(users)",
    "p95 + users ~ C(users)",
    "p95 + client ~ C(client) + users",
    "p95 ~ number * delay",
    "p95 ~ strategy * C(hedges) + on",
)


def factorial(seed: int, rows: int) -> pd.DataFrame:
    """A table in which some factors apply at some strategies only, one may be constant, and some cells lack."""
    rng = np.random.default_rng(seed)
    strategy = rng.choice(["breaker", "off", "retry"], rows)
    delayed = strategy == "retry"
    made = pd.DataFrame(
        {
            "strategy": strategy,
            "delay": np.where(delayed, rng.choice([0.02, 0.05], rows), np.nan),
            "hedges": pd.array(np.where(delayed, rng.integers(1, 4, rows), 0), dtype="Int64"),
            "users": rng.integers(1, 4, rows),
            "client": rng.choice(["a", "b"], rows) if rng.random() < 0.7 else "a",
            "digits": rng.choice(["5", "6", "x"], rows),
            "number": rng.choice(["5", "6", "x", "y"], rows, p=[0.2, 0.1, 0.4, 0.3]),
            "fixed": 5,
            "on": rng.random(rows) < 0.5,
            "p95": 30.0 if rng.random() < 0.1 else rng.normal(30, 1, rows) + delayed,
        }
    )
    made["hedges"] = made["hedges"].astype(float).where(delayed)
    made["rate"] = made["p95"] + rng.normal(size=rows)
    for name in rng.choice(["p95", "users", "strategy", "delay"], rng.integers(0, 3)):
        made[name] = made[name].mask(rng.random(rows) < 0.1)
    return made


def outcome(model: Callable[[], object]) -> object:
    """What a model comes to, or the problems that it has."""
    try:
        return model()
    except DataError as error:
        return str(error)


def same_model(frame: pd.DataFrame, formula: str, block: int, known: FactorTable = NOTHING_KNOWN) -> None:
    """Check that estimates by blocks are the model of the whole table, or have the same problems."""
    found = outcome(lambda: estimates(InMemory(frame, block), formula, factors=known))
    whole = outcome(lambda: build_design(formula, frame, known))
    if not isinstance(whole, DesignMatrix) or not isinstance(found, tuple):
        assert found == whole
        return
    basis = factorize(whole)
    for place, one in enumerate(found):
        theirs = fit_linear(whole, basis, place).coefficients
        assert [c.name for c in one.coefficients] == [c.name for c in theirs]
        for name in ("estimate", "std_error", "ci_low", "ci_high"):
            wanted = [getattr(c, name) for c in theirs]
            assert [getattr(c, name) for c in one.coefficients] == pytest.approx(wanted, rel=1e-6, abs=1e-8)
    kinds = ("nested", "dropped_term", "aliased")
    assert [note.kind for note in found[0].notes if note.kind in kinds] == [
        note.kind for note in whole.notes if note.kind in kinds
    ]
    assert {name: whole.levels[name][0] for name in found[0].references} == found[0].references


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32 - 1), st.integers(8, 40), st.integers(1, 7), st.sampled_from(FORMULAS), st.booleans())
def test_estimates_by_blocks_are_the_model_of_fit(seed: int, rows: int, block: int, formula: str, known: bool) -> None:
    same_model(factorial(seed, rows), formula, block, KNOWN if known else NOTHING_KNOWN)


def test_a_response_that_never_varies_is_refused_as_fit_does() -> None:
    frame = table(7, 30).assign(same=4.0, nothing=0)
    for formula in ("same ~ users", "same + nothing + p95 ~ users"):
        same_model(frame, formula, 7)
    said = r"same is 4 in every row: there is nothing to explain\.\nresponse nothing: nothing is zero in every row"
    with pytest.raises(DataError, match=said):
        estimates(InMemory(frame, 7), "same + nothing ~ users")


@pytest.mark.parametrize("response", ["I(p95 - p95)", "I(0 * p95 + 3)", "p95 + I(p95 / p95)"])
def test_a_computed_response_that_never_varies_is_refused(response: str) -> None:
    frame, formula = table(7, 30), f"{response} ~ users"
    same_model(frame, formula, 7)
    with pytest.raises(DataError, match="in every row: there is nothing to explain"):
        build_design(formula, frame)


def nested(rows: int = 30) -> pd.DataFrame:
    """A table in blocks of which some lack a delay in each row, and others in none."""
    strategy = np.repeat(["breaker", "off", "retry"], rows)
    delay = np.where(strategy == "retry", np.tile([0.02, 0.05, 0.05], rows), np.nan)
    return pd.DataFrame({"strategy": strategy, "delay": delay, "p95": np.random.default_rng(8).normal(30, 1, 3 * rows)})


def test_rows_where_a_nested_factor_does_not_apply_stay_in_estimates() -> None:
    same_model(nested(), "p95 ~ strategy + delay", 7, KNOWN)
    (found,) = estimates(InMemory(nested(), 7), "p95 ~ strategy + delay", factors=KNOWN)
    (whole,) = fit_formulas(nested(), ["p95 ~ strategy + delay"], Settings(factors=KNOWN)).models
    assert found.summary.n == 90
    assert [note.text for note in found.notes] == [note.text for note in whole.fit.design.notes]
    assert "strategy is compared at delay = 40ms" in found.notes[0].text


def test_an_interaction_that_a_nested_factor_cannot_have_is_refused_by_blocks() -> None:
    frame = nested().assign(users=1.0)
    with pytest.raises(DataError, match="delay applies only at strategy = retry, so it cannot interact"):
        estimates(InMemory(frame, 7), "p95 ~ strategy + users * delay")


def test_the_level_without_the_pattern_is_the_reference_of_estimates() -> None:
    (found,) = estimates(InMemory(nested(), 7), "p95 ~ C(strategy)", factors=KNOWN)
    assert [one.name for one in found.coefficients[1:]] == ["C(strategy)[T.breaker]", "C(strategy)[T.retry]"]
    assert found.references == {"strategy": "off"}


def test_a_design_with_a_column_for_each_level_has_no_reference() -> None:
    (found,) = estimates(InMemory(nested(), 7), "p95 ~ 0 + strategy")
    assert found.references == {}


def test_a_category_left_with_one_level_is_left_out_of_estimates_with_a_note() -> None:
    frame = nested().assign(client="a", users=np.arange(90.0))
    (found,) = estimates(InMemory(frame, 7), "p95 ~ client + users")
    assert [one.name for one in found.coefficients] == ["Intercept", "users"]
    assert found.notes[0].text == ("Term client left out: client is a in every row, so it has no effect to estimate.")


@pytest.mark.parametrize("block", [1, 4, 100])
def test_the_row_of_a_wrong_cell_is_counted_from_the_first_row_of_the_table(block: int) -> None:
    frame = pd.DataFrame({"p95": np.arange(9.0), "users": ["1", "2", "3", "4", "5", "6", "no", "8", "no"]})
    said = r"^row 7: column users must hold numbers but holds 'no' \(2 such values\)"
    with pytest.raises(DataError, match=said):
        estimates(InMemory(frame, block), "p95 ~ users")


def test_a_name_that_looks_like_a_number_within_its_block_is_a_name() -> None:
    frame = nested().assign(version=["a", "b", "5"] * 30)
    same_model(frame, "p95 ~ version", 1)


@pytest.mark.parametrize("formula", ["p95 ~ fixed", "p95 ~ C(fixed)", "p95 ~ fixed + client", "p95 ~ 0 + fixed"])
def test_a_formula_of_constants_alone_is_refused_by_blocks(formula: str) -> None:
    frame = nested().assign(fixed=5, client="a")
    same_model(frame, formula, 7)
    with pytest.raises(DataError, match="No term is left"):
        estimates(InMemory(frame, 7), formula)


def test_a_response_that_is_on_the_right_as_names_is_refused_by_blocks() -> None:
    frame = nested().assign(users=[1, 2, 3] * 30, client=["a", "b", "c"] * 30)
    with pytest.raises(DataError, match="a response is on the right, too, and as names"):
        estimates(InMemory(frame, 7), "p95 + users ~ C(users)")
    with pytest.raises(DataError, match="column client must hold numbers"):
        estimates(InMemory(frame, 7), "p95 + client ~ C(client)")


def test_whole_numbers_of_a_file_are_levels_of_one_type_whatever_their_block_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "BLOCK", 6)
    path, levels = tmp_path / "table.parquet", pd.array([2, 10, 3, 2, 10, 3] * 4 + [None] * 6 + [2, None] * 3, "Int64")
    p95 = np.random.default_rng(9).normal(30, 1, 36)
    frame = pd.DataFrame({"p95": p95, "hedges": levels, "users": [1, 2, 3] * 12, "on": [True, False, None, True] * 9})
    frame.to_parquet(path)
    stored = tables.read_in_blocks(path)
    assert stored is not None
    for formula in ("p95 ~ C(hedges)", "p95 ~ C(users) + on"):
        (found,) = estimates(stored, formula)
        names = build_design(formula, tables.read_table(path)).columns
        assert tuple(one.name for one in found.coefficients) == names


def test_estimates_refuse_a_scenario_by_name(tmp_path: Path) -> None:
    table(6, 90).to_parquet(tmp_path / "table.parquet")
    asked = ["--formula", "p95 ~ users", "--estimates", "--scenario", "client"]
    done = CliRunner().invoke(fit, [str(tmp_path / "table.parquet"), *asked])
    assert done.exit_code == 2
    assert "--scenario: needs a look at each row" in done.output


def test_problems_of_all_formulas_are_told_before_any_estimate_is_printed(tmp_path: Path) -> None:
    table(6, 90).to_parquet(tmp_path / "table.parquet")
    asked = [word for name in ("users", "nobody", "nowhere") for word in ("--formula", f"p95 ~ {name}")]
    done = CliRunner().invoke(fit, [str(tmp_path / "table.parquet"), "--estimates", *asked])
    assert done.exit_code == 2
    assert "no column is called nobody" in done.output
    assert "no column is called nowhere" in done.output
    assert "Coefficients" not in done.output


def test_estimates_of_a_file_that_a_run_wrote_know_its_factors(tmp_path: Path) -> None:
    path = tmp_path / "rounds.parquet"
    noted = [{"name": "strategy", "role": "pattern", "unit": "text", "none": "off"}]
    tables.write_rounds(nested(), noted, path)
    done = CliRunner().invoke(fit, [str(path), "--formula", "p95 ~ strategy + delay", "--estimates"])
    assert done.exit_code == 0, done.output
    assert "Compared with strategy = off." in done.output
    assert "strategy[T.breaker]" in done.output
    assert "the other 60 rows stay in the model" in " ".join(done.output.split())


def peak(stored: tables.StoredTable) -> int:
    """Return the most memory, in bytes, that estimates of a table held."""
    return most_traced(lambda: estimates(stored, "p95 ~ users + clock + C(strategy) * client"))


@pytest.mark.slow
def test_estimates_hold_no_more_memory_for_a_longer_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "BLOCK", 512)
    peaks = []
    for rows in (4_096, 16_384, 65_536):
        path = tmp_path / f"{rows}.parquet"
        table(11, rows).to_parquet(path, row_group_size=2_048)
        stored = tables.read_in_blocks(path)
        assert stored is not None
        peaks.append(min(peak(stored) for _ in range(2)))  # the first may load a library
    added = 8 * (65_536 - 16_384)
    assert peaks[2] < peaks[1] + added / 2, "half a column of what was added; a group of rows has its sizes"


def test_an_id_that_is_taken_for_a_category_is_refused_without_a_table_of_all_its_levels(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(first_look, "MOST_LEVELS", 300)
    monkeypatch.setattr(by_blocks, "MOST_LEVELS", 300)
    frame = table(12, 2_000).assign(request=[f"request {row}" for row in range(2_000)])
    look = first_look.first_look(parse_formula("p95 ~ request"), InMemory(frame, 50), NOTHING_KNOWN)
    assert len(look.levels["request"]) == 350
    said = "has at least 350 coefficients, at least 349 of them for request; at most 200 are fitted"
    with pytest.raises(DataError, match=said):
        estimates(InMemory(frame, 50), "p95 ~ request")
