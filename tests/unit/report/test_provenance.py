"""The lines at the end of a page say what it is made from, and on which machine that was measured."""

from __future__ import annotations

from pathlib import Path

from tests.support.measured_run import measured_run

from patternbench.records import stored
from patternbench.report.pages.provenance import made_from, measured_here


def test_a_page_of_a_run_says_when_and_on_which_machine_the_run_was_measured(tmp_path: Path) -> None:
    run = measured_run(tmp_path / "run")
    made = {"cpu": "one", "cores": 2, "system": "Linux-6", "python": "3.11"}
    noted = stored.manifest(run).model_copy(update={"machine": made, "patternbench": "1.2", "started": "2026-01-02T03"})
    stored.write_manifest(run, noted)
    assert made_from(run.path) == [
        f"Made from {run.path}.",
        "The run was measured from 2026-01-02T03 on by patternbench 1.2, on one, 2 cores, Linux-6.",
    ]


def test_a_page_of_a_table_names_its_file(tmp_path: Path) -> None:
    assert made_from(tmp_path / "a.csv") == [f"Made from {tmp_path / 'a.csv'}."]


def test_what_is_not_known_of_a_machine_is_left_out() -> None:
    assert measured_here(9, "1.2", {}) == "Measured with 9 rounds by patternbench 1.2."
    assert measured_here(9, "1.2", {"cores": 2}) == "Measured with 9 rounds by patternbench 1.2, on 2 cores."
