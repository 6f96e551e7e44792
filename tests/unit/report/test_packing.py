"""A page's data is small, and nothing of it is lost."""

from __future__ import annotations

import json
import re

import pytest
from tests.support.packed import data_of, unpacked
from tests.support.synthetic_run import synthetic_run

from patternbench.report.html import render
from patternbench.report.packing import packed

MEGABYTES = 1_000_000
BYTES_OF_A_SCENARIO = 2_750


@pytest.mark.parametrize(
    "data",
    [
        {"rows": [{"a": 1, "b": "x"}, {"a": None, "b": "y"}]},
        {"nested": [{"points": [{"a": 1.5}, {"a": 2.5}]}, {"points": []}]},
        {"uneven": [{"a": 1}, {"b": 2}], "one": [{"a": 1}], "empty": [{}, {}], "words": ["a", "b"]},
    ],
)
def test_packed_data_comes_back_as_it_was(data: dict[str, object]) -> None:
    assert unpacked(json.loads(json.dumps(packed(data)))) == data


def test_columns_that_several_figures_share_are_written_once() -> None:
    rows = [{"fitted": place / 7, "row": place} for place in range(50)]
    once, twice = (json.dumps(packed({"figures": [rows] * count})) for count in (1, 2))
    assert len(twice) - len(once) < 50


@pytest.mark.slow
def test_a_report_of_210_scenarios_is_smaller_than_two_megabytes() -> None:
    run = synthetic_run()
    assert len(run.scenarios) == 210
    page = render(run)
    assert len(page.encode()) < 2 * MEGABYTES
    own = re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)
    assert len(own.encode()) / len(run.scenarios) < BYTES_OF_A_SCENARIO


@pytest.mark.slow
def test_the_points_of_a_figure_are_in_the_page() -> None:
    data = data_of(render(synthetic_run(rounds=2, users=[50], fault=[0])))
    assert set(data["responses"][0]["rows"][0]) == {"median", "low", "high", "coverage", "rounds"}
