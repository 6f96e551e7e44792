"""An observer is one folder: what it watches is kept with the round, read back, measured, shown and exported."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.support.recorded_run import pinned
from tests.support.studies import ROOT

import patternbench
from patternbench.observe import registry
from patternbench.observe.seam import ObservationError
from patternbench.plan.order import Round
from patternbench.records import attempts, damage, observed
from patternbench.records.batches import Batch
from patternbench.records.folder import RunFolder
from patternbench.records.journal import DAMAGED, DONE, Entry, Journal
from patternbench.report.build import gather, refresh_rounds
from patternbench.report.export import ExportRequest, export_run
from patternbench.run.round import observing
from patternbench.study.models import StudyFields
from patternbench.study.questions import asking, questions

PAGE = (ROOT / "docs" / "write-an-observer.md").read_text()
WEATHER = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
"""The files of the example of the page on observers: its observer, its question and its section."""
DERIVE = 'def derive(run):\n    (run / "forecast").write_text("sunny")\n'


@pytest.fixture
def weather(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A further observer: a folder of the package with the file of the page in it."""
    folder = tmp_path / "package" / "weather"
    folder.mkdir(parents=True)
    (folder / "report").mkdir()
    for package in (folder, folder / "report"):
        (package / "__init__.py").touch()
    (folder / "observer.py").write_text(WEATHER[0])
    (folder / "question.py").write_text(WEATHER[1])
    (folder / "report" / "section.py").write_text(WEATHER[2])
    (folder / "derive.py").write_text(DERIVE)
    monkeypatch.setattr(patternbench, "__path__", [*patternbench.__path__, str(folder.parent)])
    for found in (registry.observers, questions):
        found.cache_clear()
    yield
    for found in (registry.observers, questions):
        found.cache_clear()
    for name in [name for name in sys.modules if name.startswith("patternbench.weather")]:
        sys.modules.pop(name, None)


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    """A run of one round of one scenario, whose attempts are there."""
    scenario = {"id": "s", "levels": {}, "config": {"system": {"settings": {"offset": 1}}}}
    found = pinned(RunFolder(tmp_path / "run"), [scenario], [Round(0, 0, "s")])
    one = np.ones(1, dtype=np.int64)
    batch = Batch(0 * one, 0 * one, one, 0 * one, one, np.zeros(1, np.int8), 200 * one)
    attempts.write(found.attempts_of("00000"), attempts.from_batches([batch], warm_up=False))
    Journal(found.journal).append(Entry(0, 0, "s", DONE, "00000", 0.0, 1.0, 1))
    return found


def watch(run: RunFolder, degrees: str = "31") -> list[str]:
    """Observe the round and keep what was seen; the kinds of warning that it raised."""
    with observing.watched(run, "00000", {"station": degrees}) as observation:
        pass
    return [warning.kind for warning in observation.keep({})]


@pytest.mark.usefixtures("weather")
def test_what_a_new_observer_sees_is_kept_warned_of_measured_shown_and_exported(run: RunFolder, tmp_path: Path) -> None:
    with observing.watched(run, "00000", {"station": "31"}) as observation:
        assert not run.observed.exists(), "nothing is kept before the load is over"
    assert [warning.kind for warning in observation.keep({})] == ["hot"]
    assert (run.observed_of("00000") / "weather" / "series.csv").read_text() == "degrees\n31\n"
    report = gather(run)
    assert report.rounds["temperature"].tolist() == [32]
    assert [(section.title, section.words) for section in report.sections] == [("Weather", ["It had 32 degrees."])]
    path = export_run(run, ExportRequest("csv", "weather"), tmp_path / "weather.csv", force=False)
    assert pd.read_csv(path).to_dict("records") == [{"round": 0, "block": 0, "scenario": "s", "degrees": 31.0}]


@pytest.mark.usefixtures("weather")
def test_a_round_whose_observations_cannot_be_read_any_more_is_damaged(run: RunFolder) -> None:
    watch(run)
    (run.observed_of("00000") / "weather" / "series.csv").write_text("degrees\nwarm\n")
    (entry,) = damage.rounds(run)
    assert (entry.status, entry.cause) == (DAMAGED, "its records are damaged: series.csv cannot be read")


@pytest.mark.usefixtures("weather")
def test_an_observer_that_cannot_watch_says_why_before_any_load(run: RunFolder) -> None:
    with pytest.raises(ObservationError, match="no station answers"), observing.watched(run, "00000", {}):
        raise AssertionError("load was put on")


@pytest.mark.usefixtures("weather")
def test_of_a_round_that_breaks_off_nothing_is_kept_and_the_next_sweep_tidies_up(run: RunFolder) -> None:
    with observing.watched(run, "00000", {"station": "20"}):
        pass  # the round failed afterwards, so no one asked to keep what was seen
    assert [path.name for path in run.observed.iterdir()] == ["00000.tmp"]
    run.sweep()
    assert list(run.observed.iterdir()) == []
    assert observed.measured(run, "00000", {}) == {}


@pytest.mark.usefixtures("weather")
def test_a_round_that_is_observed_again_keeps_only_what_was_seen_last(run: RunFolder) -> None:
    watch(run, "31")
    assert watch(run, "20") == []
    assert refresh_rounds(run).rounds["temperature"].tolist() == [21]


def test_a_run_in_which_nothing_was_observed_has_no_columns_of_observers(run: RunFolder) -> None:
    names = {response.name for response in registry.responses()}
    assert names
    assert not names & set(refresh_rounds(run).rounds.columns)


@pytest.mark.usefixtures("weather")
def test_a_wing_works_out_what_its_sections_need(run: RunFolder) -> None:
    registry.derive(run.path)
    assert (run.path / "forecast").read_text() == "sunny"


def test_every_wing_has_a_section_that_the_registry_finds() -> None:
    assert [folder for folder in registry.folders() if not registry.has(folder, registry.SECTIONS)] == []
    assert [folder for folder in registry.folders() if registry.has(folder, registry.DERIVE)] == [
        "patternbench.ratelimit"
    ]


@pytest.mark.usefixtures("weather")
def test_what_a_study_may_ask_of_a_new_observer_stands_in_one_file_of_its_folder() -> None:
    assert "station" not in StudyFields.model_fields
    assert "station" in asking("Study", StudyFields, questions()).model_fields
