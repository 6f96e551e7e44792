"""Factors that apply at some levels of another only: nothing is dropped in silence, slopes are the nested ones."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from patternbench.analyze.models.fit import fit_formulas
from patternbench.analyze.models.fit_json import analysis_json
from patternbench.analyze.models.predict import predict
from patternbench.analyze.models.saved_model import read_models
from patternbench.terms.data_problems import DataError

FORMULA = "p95 ~ users + C(strategy) + delay"


def table(rounds: int = 6) -> pd.DataFrame:
    """Baseline 1 + users/100; retry 2 + users/100 + 10 x delay, with a little noise."""
    source = np.random.default_rng(1)
    rows = []
    for users in (10, 20, 40):
        for strategy, delay in (("baseline", None), ("retry", 0.02), ("retry", 0.06)):
            for _ in range(rounds):
                mean = 1 + users / 100 + (0 if delay is None else 1 + 10 * delay)
                rows.append((users, strategy, delay, mean + source.normal(0, 0.01)))
    return pd.DataFrame(rows, columns=["users", "strategy", "delay", "p95"])


def coefficients(data: pd.DataFrame, formula: str) -> dict[str, float]:
    return {c.name: c.estimate for c in fit_formulas(data, [formula]).models[0].fit.coefficients}


def test_the_baseline_stays_in_the_model_and_the_note_says_how() -> None:
    (model,) = fit_formulas(table(), [FORMULA]).models
    assert model.fit.summary.n == 54
    (note,) = [note for note in model.notes if note.kind == "nested"]
    assert "delay applies only at strategy = retry" in note.text
    assert "the other 18 rows stay" in note.text
    assert "strategy is compared at delay = 0.04" in note.text


def test_the_slope_is_that_of_the_rows_where_the_factor_applies() -> None:
    found = coefficients(table(), FORMULA)
    assert found["delay"] == pytest.approx(10, abs=0.3)
    assert found["C(strategy)[T.retry]"] == pytest.approx(1 + 10 * 0.04, abs=0.02)


def test_the_stand_in_changes_no_slope() -> None:
    data = table()
    for stand_in in (0.0, 7.0):
        filled = coefficients(data.assign(delay=data["delay"].fillna(stand_in)), FORMULA)
        assert filled["delay"] == pytest.approx(coefficients(data, FORMULA)["delay"])
        assert filled["users"] == pytest.approx(coefficients(data, FORMULA)["users"])


def test_a_nested_category_takes_its_reference_level() -> None:
    (model,) = fit_formulas(table(), ["p95 ~ C(strategy) + C(delay)"]).models
    assert model.fit.summary.n == 54
    assert "strategy is compared at delay = 0.02" in model.notes[0].text


def test_without_the_deciding_factor_the_model_speaks_of_those_rows_alone_and_says_so() -> None:
    (model,) = fit_formulas(table(), ["p95 ~ users + delay"]).models
    assert model.fit.summary.n == 36
    (note,) = model.notes
    assert note.kind == "not_applicable"
    assert "18 of 54 are left out. Add strategy to the formula to keep them." in note.text


def test_an_interaction_that_a_nested_factor_cannot_have_is_refused() -> None:
    with pytest.raises(DataError, match="delay applies only at strategy = retry, so it cannot interact"):
        fit_formulas(table(), ["p95 ~ C(strategy) + users * delay"])


def test_values_that_merely_lack_are_still_left_out_as_missing() -> None:
    data = table()
    data.loc[8, "delay"] = np.nan
    (model,) = fit_formulas(data, [FORMULA]).models
    assert model.fit.summary.n == 53
    assert [note.kind for note in model.notes] == ["nested", "missing"]


def test_a_prediction_needs_the_nested_factor_only_where_it_applies() -> None:
    (saved,) = read_models(analysis_json(fit_formulas(table(), [FORMULA])))
    assert predict(saved, {"users": "20", "strategy": "baseline"}).estimate == pytest.approx(1.2, abs=0.02)
    at = {"users": "20", "strategy": "retry", "delay": "0.06"}
    assert predict(saved, at).estimate == pytest.approx(2.8, abs=0.03)
    with pytest.raises(DataError, match="delay does not apply at strategy=baseline"):
        predict(saved, {**at, "strategy": "baseline"})
    with pytest.raises(DataError, match="delay is not given"):
        predict(saved, {"users": "20", "strategy": "retry"})
