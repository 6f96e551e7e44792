"""The report's section on faults that acted in a part of a round."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from patternbench.records.folder import RunFolder
from patternbench.records.journal import DONE, ActedFault, Entry
from patternbench.records.stored import PlannedScenario
from patternbench.report.sections import faults as module
from patternbench.report.svg import draw

ATTEMPTS = pd.DataFrame(
    {
        "attempt": [1, 1, 1],
        "outcome": ["answered", "timeout", "answered"],
        "success": [True, False, True],
        "start_us": [0, 1_000_000, 3_000_000],
        "end_us": [10_000, 1_200_000, 3_020_000],
    }
)


def entry(number: int, scenario: str, *acted: ActedFault) -> Entry:
    return Entry(number, number, scenario, DONE, f"{number:05d}", 0.0, 4.0, rows=3, faults=list(acted))


def crash(began_s: float, ended_s: float) -> ActedFault:
    return ActedFault("crash", "crash", "shop", round(began_s * 1e6), round(ended_s * 1e6))


def sections(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *entries: Entry) -> list[Any]:
    monkeypatch.setattr(module.attempts, "of_round", lambda _: ATTEMPTS)
    named = dict.fromkeys(each.scenario for each in entries)
    scenarios = [PlannedScenario(id=name, levels={"client": "native", "strategy": name}, config={}) for name in named]
    return module.sections(RunFolder(tmp_path), entries, scenarios)


def test_a_run_without_faults_in_parts_of_rounds_has_no_such_section(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    whole = ActedFault("abort", "abort", "edge", -30_000, 4_100_000)
    assert sections(monkeypatch, tmp_path, entry(0, "a", whole), entry(1, "b")) == []


def test_the_table_has_median_least_and_greatest_of_each_window(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    rounds = [entry(place, "a", crash(1 + late, 2), crash(3, 3.5)) for place, late in enumerate((0.0, 0.01, 0.5))]
    (section,) = sections(monkeypatch, tmp_path, *rounds)
    table = section.tables[0].frame
    assert table["began"].tolist() == ["1.010 s (1.000 to 1.500)", "3.000 s (3.000 to 3.000)"]
    assert table["rounds"].tolist() == [3, 3]


def test_the_picture_can_be_drawn_and_shows_when_a_fault_acted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (section,) = sections(monkeypatch, tmp_path, entry(0, "a", crash(1, 2)))
    drawn = draw(section.figures[0].spec)
    assert "crash" in drawn
    assert "median time (ms)" in drawn


def test_a_picture_of_many_scenarios_shows_the_first_and_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    many = [entry(place, f"s{place:02d}", crash(1, 2)) for place in range(module.MOST_SCENARIOS + 1)]
    (section,) = sections(monkeypatch, tmp_path, *many)
    assert f"the first {module.MOST_SCENARIOS} of {module.MOST_SCENARIOS + 1} scenarios" in section.words[1]
    assert len(section.tables[0].frame) == len(many)
