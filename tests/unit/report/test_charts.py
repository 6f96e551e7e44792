"""The library that describes charts: a user without a home can load it, and what it is told is valid."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from jsonschema import ValidationError
from tests.support.synthetic_run import synthetic_run

from patternbench.report.charts import COLOURS, alt, some_home
from patternbench.report.charts import spec as spec_of
from patternbench.report.figures import scenarios
from patternbench.report.layout import layout

HOMELESS = """
import os, pathlib
def homeless(cls): raise RuntimeError("Could not determine home directory.")
real, pathlib.Path.home = pathlib.Path.home, classmethod(lambda cls: real() if "HOME" in os.environ else homeless(cls))
from patternbench.report import build
print("HOME" in os.environ)
"""


def test_all_that_draws_is_loaded_without_a_home_and_leaves_the_environment_as_it_was() -> None:
    env = {name: value for name, value in os.environ.items() if name not in ("HOME", "XDG_CACHE_HOME")}
    done = subprocess.run([sys.executable, "-c", HOMELESS], env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "False\n"), done.stderr


def test_the_home_of_a_user_who_has_one_stays(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    with some_home():
        assert os.environ["HOME"] == str(tmp_path)
    assert os.environ["HOME"] == str(tmp_path)


def test_figures_of_a_run_are_valid_vega_lite_though_nobody_checks_them_when_they_are_drawn() -> None:
    arrangement = layout(synthetic_run(rounds=2, users=[50], fault=[0, 80]))
    specs = [scenarios.grid(arrangement, "p95", "points", narrow) for narrow in (False, True)]
    for spec in [*specs, scenarios.distribution("points"), scenarios.drift("points")]:
        alt.Chart.from_dict(spec, validate=True)


def test_a_figure_that_is_not_valid_is_found_by_that_check() -> None:
    wrong = alt.Chart().mark_line(color=COLOURS[0]).encode(x="x:Q").to_dict(validate=False)
    wrong["mark"]["strokeWidth"] = "thick"
    with pytest.raises(ValidationError):
        alt.Chart.from_dict(wrong, validate=True)


def test_a_figure_may_have_any_number_of_rows() -> None:
    rows = pd.DataFrame({"x": range(6000), "y": range(6000)})
    drawn = spec_of(alt.Chart(rows).mark_line().encode(x="x:Q", y="y:Q"))
    assert isinstance(drawn["datasets"], dict)
    assert sum(len(values) for values in drawn["datasets"].values()) == 6000
