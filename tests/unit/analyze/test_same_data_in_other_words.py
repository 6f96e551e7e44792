"""The same rounds say the same however they are written down: in which order, in which unit, under which names.

Each test changes how a table of rounds is written and knows what that does to each number of a comparison: nothing, or
one factor, or one sign. No number here is computed by the code under test in a second way.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from tests.unit.analyze.test_models import runs
from tests.unit.analyze.test_whole_analyses import OF_RUNS, kept

from patternbench.cli.compare import compare
from patternbench.cli.fit import fit
from patternbench.cli.recommend import recommend

Key = tuple[int, str, str]
Numbers = Mapping[str, Any]
SAME = ("p", "p_adjusted", "cliffs_delta", "size", "verdict", "method", "firm", "rounds")
"""What of a comparison no unit, order or name can change."""
RELATIVE = ("relative_percent", "relative_ci_low", "relative_ci_high")
IN_UNITS = ("difference", "ci_low", "ci_high")
CRITERIA = ("--objective", "minimise p95", "--subject-to", "failure_rate <= 6%", "--given", "users")
FORMULA = "p95 ~ users + C(strategy)"


def data(command: click.Command, table: pd.DataFrame, folder: Path, *words: str, **levels: list[object]) -> Any:
    """What a command says of a table of rounds, as data."""
    folder.mkdir()
    run = kept(table, folder, "run", {**OF_RUNS, **levels})
    result = CliRunner().invoke(command, [run, *words, "--json"])
    assert result.exit_code in (0, 1, 3), result.output
    return json.loads(result.stdout)


def compared(table: pd.DataFrame, folder: Path, *words: str, **levels: list[object]) -> dict[Key, Numbers]:
    """Every comparison by its load, its strategy and its response."""
    listed = data(compare, table, folder, *words, **levels)["differences"]
    found = {(one["levels"]["users"], one["levels"]["strategy"], one["response"]): one for one in listed}
    assert len(found) == len(listed) >= 8
    return found


def assert_alike(one: Numbers, other: Numbers, names: tuple[str, ...], factor: float = 1.0) -> None:
    for name in names:
        is_number = isinstance(one[name], (int, float)) and not isinstance(one[name], bool)
        expected = pytest.approx(factor * one[name], rel=1e-6, abs=1e-9) if is_number else _near(one[name])
        assert other[name] == expected, name


def _near(value: Any) -> Any:
    """A value to compare with, whose numbers may differ in their last digit."""
    if isinstance(value, list):
        return [_near(one) for one in value]
    if isinstance(value, dict):
        return {name: _near(one) for name, one in value.items()}
    return pytest.approx(value, rel=1e-6) if isinstance(value, float) else value


@pytest.fixture
def table() -> pd.DataFrame:
    return runs(rounds=6, block_noise=4.0)


SPELLINGS: Mapping[str, Callable[[pd.DataFrame], pd.DataFrame]] = {
    "in another order": lambda table: table.sample(frac=1, random_state=8).reset_index(drop=True),
    "with other numbers of blocks": lambda table: table.assign(block=7 * table["block"] + 3),
    "with a column that nobody asks for": lambda table: table.assign(other=np.arange(len(table))),
    "with columns in another order": lambda table: table[table.columns[::-1]],
}


@pytest.mark.parametrize("how", SPELLINGS)
def test_a_comparison_is_the_same_of_rows(how: str, table: pd.DataFrame, tmp_path: Path) -> None:
    first = compared(table, tmp_path / "a", "--response", "p95", "--response", "failure_rate")
    again = compared(SPELLINGS[how](table), tmp_path / "b", "--response", "p95", "--response", "failure_rate")
    assert first.keys() == again.keys()
    for key, one in first.items():
        assert_alike(one, again[key], (*SAME, *RELATIVE, *IN_UNITS, "means", "centres", "noise_floor"))


def test_in_another_unit_only_what_has_a_unit_changes(table: pd.DataFrame, tmp_path: Path) -> None:
    first = compared(table, tmp_path / "a", "--response", "p95")
    scaled = compared(table.assign(p95=1000 * table["p95"]), tmp_path / "b", "--response", "p95")
    for key, one in first.items():
        assert_alike(one, scaled[key], (*SAME, *RELATIVE, "noise_floor", "detectable_percent"))
        assert_alike(one, scaled[key], IN_UNITS, factor=1000)
        assert scaled[key]["means"] == pytest.approx([1000 * mean for mean in one["means"]])


def test_under_other_names_the_same_levels_say_the_same(table: pd.DataFrame, tmp_path: Path) -> None:
    """The names turn the alphabet round; the order in which a study declares them stays."""
    names = {"baseline": "baseline", "breaker": "zz", "retry": "aa"}
    first = compared(table, tmp_path / "a", "--response", "p95")
    renamed = table.assign(strategy=table["strategy"].map(names))
    again = compared(renamed, tmp_path / "b", "--response", "p95", strategy=[*names.values()])
    for (users, strategy, response), one in first.items():
        assert_alike(one, again[users, names[strategy], response], (*SAME, *RELATIVE, *IN_UNITS, "means"))


def test_what_a_block_does_to_all_alike_is_in_no_difference(table: pd.DataFrame, tmp_path: Path) -> None:
    shift = table["block"].map({0: 5.0, 1: -3.0, 2: 11.0, 3: 0.0, 4: 7.0, 5: -9.0})
    first = compared(table, tmp_path / "a", "--response", "failure_rate")
    shifted = table.assign(failure_rate=table["failure_rate"] + 10 + shift / 10)
    again = compared(shifted, tmp_path / "b", "--response", "failure_rate")
    for key, one in first.items():
        assert_alike(one, again[key], (*IN_UNITS, "p", "p_adjusted", "verdict", "rounds"))


def test_seen_from_the_other_side_a_difference_has_the_other_sign(table: pd.DataFrame, tmp_path: Path) -> None:
    words = ("--response", "failure_rate")
    first = compared(table, tmp_path / "a", *words)
    other = compared(table, tmp_path / "b", *words, "--baseline", "strategy=retry")
    for users in (10, 20, 40, 80):
        there, back = first[users, "retry", "failure_rate"], other[users, "baseline", "failure_rate"]
        assert back["means"] == pytest.approx(there["means"][::-1])
        assert back["difference"] == pytest.approx(-there["difference"])
        assert (back["ci_low"], back["ci_high"]) == pytest.approx((-there["ci_high"], -there["ci_low"]))
        assert back["cliffs_delta"] == pytest.approx(-there["cliffs_delta"])
        assert back["p"] == pytest.approx(there["p"])


def test_rounds_that_differ_by_the_same_in_every_block_are_told_apart_by_just_that(tmp_path: Path) -> None:
    """Made of numbers without chance: each strategy is a known factor of the baseline in each block."""
    table = runs(rounds=6, noise=0.0)
    base = 40 + table["users"] + 3.0 * table["block"]
    table["p95"] = base * table["strategy"].map({"baseline": 1.0, "breaker": 0.5, "retry": 1.25})
    for (_, strategy, _), one in compared(table, tmp_path / "a", "--response", "p95").items():
        expected = {"breaker": -50.0, "retry": 25.0}[strategy]
        assert one["relative_percent"] == pytest.approx(expected)
        assert one["relative_ci_low"] - 1e-6 <= expected <= one["relative_ci_high"] + 1e-6
        assert np.sign(one["cliffs_delta"]) == np.sign(expected)


CHOICES = ("chosen", "verdict", "ties", "given")
OF_CANDIDATES = ("configuration", "means", "feasible", "on_front", "p")


@pytest.mark.parametrize("how", SPELLINGS)
def test_a_recommendation_is_the_same_of_rows(how: str, table: pd.DataFrame, tmp_path: Path) -> None:
    first = data(recommend, table, tmp_path / "a", *CRITERIA)
    again = data(recommend, SPELLINGS[how](table), tmp_path / "b", *CRITERIA)
    for one, other in zip(first["choices"], again["choices"], strict=True):
        assert [one[name] for name in CHOICES] == [other[name] for name in CHOICES]
        for mine, theirs in zip(one["candidates"], other["candidates"], strict=True):
            for name in OF_CANDIDATES:
                assert theirs[name] == _near(mine[name]), name


def test_a_recommendation_by_more_of_its_opposite_is_the_same(table: pd.DataFrame, tmp_path: Path) -> None:
    """To keep a time down is to keep its negative up."""
    least = data(recommend, table, tmp_path / "a", "--objective", "minimise p95", "--given", "users")
    most = data(
        recommend,
        table.assign(p50=200 - table["p95"]),
        tmp_path / "b",
        *("--objective", "maximise p50", "--given", "users"),
    )
    for one, other in zip(least["choices"], most["choices"], strict=True):
        assert one["chosen"] == other["chosen"]
        assert {c["configuration"]: c["wins"] for c in one["candidates"]} == pytest.approx(
            {c["configuration"]: c["wins"] for c in other["candidates"]}, abs=0.02
        )


@pytest.mark.parametrize("how", [one for one in SPELLINGS if "blocks" not in one])
def test_a_model_is_the_same_of_rows(how: str, table: pd.DataFrame, tmp_path: Path) -> None:
    (first,) = data(fit, table, tmp_path / "a", "--formula", FORMULA)["models"]
    (again,) = data(fit, SPELLINGS[how](table), tmp_path / "b", "--formula", FORMULA)["models"]
    for name in ("r2", "adj_r2", "f", "aic", "bic", "sigma", "mape", "mae", "rmse"):
        assert again[name] == pytest.approx(first[name], rel=1e-6), name
    for one, other in zip(first["terms"], again["terms"], strict=True):
        assert_alike(one, other, tuple(one))


def test_a_model_of_a_time_in_another_unit_has_coefficients_in_it(table: pd.DataFrame, tmp_path: Path) -> None:
    (first,) = data(fit, table, tmp_path / "a", "--formula", FORMULA)["models"]
    scaled = table.assign(p95=1000 * table["p95"], users=table["users"] / 10)
    (again,) = data(fit, scaled, tmp_path / "b", "--formula", FORMULA, users=[1, 2, 4, 8])["models"]
    for name in ("r2", "adj_r2", "f", "mape"):
        assert again[name] == pytest.approx(first[name], rel=1e-6), name
    factors = {"users": 10_000.0}
    for one, other in zip(first["terms"], again["terms"], strict=True):
        by = factors.get(one["name"], 1000.0)
        for name in ("estimate", "std_error", "ci_low", "ci_high"):
            assert other[name] == pytest.approx(by * one[name], rel=1e-5), (one["name"], name)
        assert_alike(one, other, ("t", "vif"))
