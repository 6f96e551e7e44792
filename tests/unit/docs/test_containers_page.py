"""The page on containers says which form of its study was measured, and how long starts took."""

from __future__ import annotations

import pytest
from reproductions import claimed
from reproductions.containers import page
from reproductions.pages import QUICK

from patternbench.records.journal import Entry, RecordedStart


def entry(number: int, scenario: str, status: str = "done", **seconds: float) -> Entry:
    starts = [RecordedStart(component, "it was not up", taken) for component, taken in seconds.items()]
    return Entry(number, 0, scenario, status, f"{number:05}", 0.0, 1.0, starts=starts)


def test_starts_of_the_service_before_rounds_that_count_are_kept_with_their_scenario() -> None:
    every = [
        entry(0, "a", pictures=2.0, neighbour=9.0),
        entry(1, "a"),
        entry(2, "b", "failed", pictures=3.0),
        entry(3, "b", pictures=4.0),
    ]
    assert page.starts(every).to_dict("list") == {"block": [0, 0], "scenario": ["a", "b"], "seconds": [2.0, 4.0]}


def test_starts_have_a_row_for_each_configuration_in_the_order_of_the_study() -> None:
    planned = {page.COMPARED.names[scenario]: scenario for scenario in claimed.planned(page.STUDY)}
    process, half = planned["alone", "process"], planned["alone", "container, cpus 0.5"]
    kept = page.starts([entry(0, half, pictures=9.0), entry(1, process, pictures=1.0), entry(2, process, pictures=2.0)])
    lines = page.start_table(page.COMPARED, kept).splitlines()
    assert lines[0] == "| the service | configuration | starts | seconds until it is ready |"
    assert lines[2:] == [
        "| alone | process | 2 | 1.5 (1 to 2) |",
        "| alone | container, cpus 0.5 | 1 | 9 |",
    ]


@pytest.mark.parametrize("form", ["", QUICK])
def test_the_form_of_the_study_is_told(form: str) -> None:
    kept = page.PAGE.kept()
    scenario = next(iter(claimed.planned(page.STUDY + form)))
    of_form = {**kept, page.STUDY: kept[page.STUDY].assign(scenario=scenario)}
    (parts,) = page.parts(of_form).values()
    assert parts["short"].startswith(f"Measured with [containers{form}](../studies/containers.yaml); blocks: ")


def test_a_page_without_rounds_says_how_to_measure() -> None:
    (parts,) = page.parts({}).values()
    assert "patternbench run studies/containers.yaml --quick" in parts[page.COMPARED.mark]
    assert page.PAGE.figures({}) == {}
