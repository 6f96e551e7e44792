"""Figures of models show their numbers in the unit that their axis names."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pandas as pd
import pytest

from patternbench.analyze.models.fit import ModelResult, fit_formulas
from patternbench.report.charts import COLOURS
from patternbench.report.pages.model_figures import effects_figure, interaction_figure, observed_over_fitted

USERS, STRATEGIES = [10, 20, 80], ["baseline", "retry"]


def model(scale: float) -> ModelResult:
    """Of response times that are 50 units at 10 users, 1 more for each further one, and 20 more with a retry."""
    grid = pd.MultiIndex.from_product([range(6), USERS, STRATEGIES], names=["block", "users", "strategy"])
    rows = grid.to_frame(index=False)
    noise = np.random.default_rng(1).normal(0, 0.1, len(rows))
    rows["p95"] = scale * (40 + rows["users"] + 20 * (rows["strategy"] == "retry") + noise)
    return fit_formulas(rows, ["p95 ~ users + C(strategy)"]).models[0]


def data_of(figure: Any) -> pd.DataFrame:
    (rows,) = cast(dict[str, list[dict[str, object]]], figure["datasets"]).values()
    return pd.DataFrame(rows)


@pytest.mark.parametrize(("scale", "unit"), [(0.001, "ms"), (1.0, "s")])
def test_means_of_an_interaction_and_their_intervals_are_in_the_unit_of_the_axis(scale: float, unit: str) -> None:
    figure = interaction_figure(model(scale))
    assert figure is not None
    assert f"({unit})" in str(figure)
    found = data_of(figure).set_index(["line", "x"])
    for line, users in [("baseline", 10), ("retry", 80)]:
        mean = 40 + users + 20 * (line == "retry")
        row = found.loc[(line, users)]
        assert [row["mean"], row["low"], row["high"]] == pytest.approx([mean] * 3, abs=1.0)
        assert row["low"] < row["mean"] < row["high"]


@pytest.mark.parametrize(("scale", "unit"), [(0.001, "ms"), (1.0, "s")])
def test_measured_and_fitted_values_are_in_the_unit_of_their_axes(scale: float, unit: str) -> None:
    figure = observed_over_fitted(model(scale))
    assert f"({unit})" in str(figure)
    tables = [pd.DataFrame(rows) for rows in figure["datasets"].values()]
    points = pd.concat([table for table in tables if "measured" in table])
    for column in ("measured", "fitted"):
        assert (points[column].min(), points[column].max()) == pytest.approx((50, 140), abs=1.0)


@pytest.mark.parametrize("scale", [0.001, 1.0])
def test_effects_are_points_on_their_intervals_in_one_colour_and_in_the_unit_of_the_axis(scale: float) -> None:
    figure: Any = effects_figure(model(scale))
    zero, bars, points = figure["layer"]
    assert (bars["mark"]["type"], bars["mark"]["color"]) == ("rule", COLOURS[0])
    assert (points["mark"]["type"], points["mark"]["color"]) == ("point", COLOURS[0])
    assert (zero["mark"]["type"], zero["mark"]["color"]) == ("rule", "#888")
    assert [tip["field"] for tip in points["encoding"]["tooltip"]] == ["change", "estimate", "low", "high"]
    (users, strategy) = [row for rows in figure["datasets"].values() for row in rows if "change" in row]
    assert (users["change"], strategy["change"]) == ("users: 10 to 80", "strategy = retry")
    assert (users["estimate"], strategy["estimate"]) == pytest.approx((70, 20), abs=1.0)
    assert all(row["low"] < row["estimate"] < row["high"] for row in (users, strategy))
