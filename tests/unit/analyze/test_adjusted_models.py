"""A model with a covariate that was measured says what it did to each change, and whether scenarios move it."""

import numpy as np
import pandas as pd

from patternbench.analyze.models.fit import fit_formulas
from patternbench.analyze.models.words import effects, warnings
from patternbench.report.pages.models import models_html


def rounds_of(moved: float, blocks: int = 12) -> pd.DataFrame:
    """Two strategies on a machine that is slow at times; ``moved`` is how far the second moves the probe."""
    rng = np.random.default_rng(3)
    cells = pd.MultiIndex.from_product([range(blocks), ("baseline", "retry")], names=["block", "strategy"])
    table = cells.to_frame(index=False)
    slow, retry = rng.normal(0, 0.12, len(table)), table["strategy"] == "retry"
    return table.assign(
        scenario=table["strategy"],
        probe_time=40 * np.exp(slow + np.log1p(moved) * retry),
        y=100 * np.exp(slow + np.log(1.2) * retry + rng.normal(0, 0.02, len(table))),
    )


def message(moved: float, formula: str = "log(y) ~ C(strategy) + log(probe_time)") -> str:
    return "\n".join(warnings(fit_formulas(rounds_of(moved), [formula]).models[0]))


def test_a_change_is_printed_with_and_without_its_covariate() -> None:
    model = fit_formulas(rounds_of(0.0), ["log(y) ~ C(strategy) + log(probe_time)"]).models[0]
    raw = fit_formulas(rounds_of(0.0), ["log(y) ~ C(strategy)"]).models[0]
    (plain,) = effects(raw)
    reported = effects(model)[0]
    assert model.adjusted is not None
    assert f"Without probe_time: {plain.sentence} With it the change is shifted by" in warnings(model)[0]
    assert f"{abs(reported.change - plain.change):.3g}"[:3] in warnings(model)[0].split("shifted by")[1]
    assert "Without probe_time" in models_html(fit_formulas(rounds_of(0.0), ["log(y) ~ C(strategy) + log(probe_time)"]))


def test_a_covariate_that_a_scenario_moves_makes_the_adjusted_change_uncertain() -> None:
    assert "believe the changes without it" in message(0.5)
    assert "believe the changes without it" not in message(0.0)
    assert "probe_time by scenario, within blocks: p" in message(0.0)


def test_the_bound_says_what_2_percent_of_the_covariate_do() -> None:
    text = message(0.0)
    # The response follows the probe one to one: 2 % of it are about 2 points.
    points = float(text.split("its change would be off by ")[1].split(" ")[0])
    assert 1.5 < points < 2.5
    assert "If a configuration moved probe_time by 2 %" in message(0.0, "y ~ C(strategy) + probe_time")


def test_a_number_that_is_a_factor_is_no_covariate() -> None:
    table = rounds_of(0.0).assign(users=lambda t: np.where(t["strategy"] == "retry", 10, 20))
    assert fit_formulas(table, ["y ~ users"]).models[0].adjusted is None
    assert fit_formulas(table.drop(columns="scenario"), ["y ~ C(strategy) + probe_time"]).models[0].adjusted is None


def test_a_covariate_of_two_values_is_one_as_soon_as_a_single_scenario_has_both() -> None:
    table = rounds_of(0.0).assign(nodes=1.0)
    table.loc[[0, 2], "nodes"] = 2.0
    adjusted = fit_formulas(table, ["y ~ C(strategy) + nodes"]).models[0].adjusted
    assert adjusted is not None
    assert adjusted.covariates == ("nodes",)


def test_neither_the_group_of_rounds_nor_a_slope_that_differs_by_group_is_a_covariate() -> None:
    assert fit_formulas(rounds_of(0.0), ["y ~ C(strategy) + block"]).models[0].adjusted is None
