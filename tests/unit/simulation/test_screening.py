"""A screen: which scenarios are measured of those that a model has seen, and what the report says of it."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from tests.support.simulated import MODEL, as_if_measured, model, simulate
from tests.support.studies import study

from patternbench.plan.expand import expand
from patternbench.records import screened, stored
from patternbench.records.inputs import Inputs
from patternbench.report.build import build, gather
from patternbench.report.sections import screened as section
from patternbench.run.prepared_run import only_kept
from patternbench.simulation.screening import StudyScreen
from patternbench.study.load import StudyFile
from patternbench.terms.problems import InputError

MANY = """\
patternbench: 1
name: many
system: target
rounds: 2
warm_up: 500ms
workload:
  open: {rate: [200, 600], spacing: poisson, duration: 4s}
  request: {path: /bytes/10, timeout: 1s}
faults:
  - abort: {percentage: 30, status: 503}
strategies:
  - {client: native, baseline: {}}
  - client: native
    retry: {max_attempts: [2, 3, 6], backoff: {fixed: {delay: [1ms, 200ms]}}}
recommend: {objectives: [maximise success_rate]}
design: {screen: {with: model.yaml, keep: KEEP, rounds: 2}}
"""


def screen(folder: Path, keep: int) -> tuple[StudyScreen, StudyFile, list[dict[str, object]]]:
    (folder / "model.yaml").write_text(MODEL)
    file = folder / "many.yaml"
    file.write_text(MANY.replace("KEEP", str(keep)))
    read = StudyFile.read(file)
    of_it = StudyScreen(read)
    plan = of_it.choose(read.study(), expand(read.study()), Inputs(folder))
    return of_it, read, [dict(one.levels) for one in plan.scenarios]


def test_the_most_promising_configurations_stay_under_each_condition_with_the_baseline(tmp_path: Path) -> None:
    of_it, _, kept = screen(tmp_path, 4)
    assert [(one["rate"], one["strategy"]) for one in kept] == [
        (200, "baseline"),
        (200, "retry"),
        (600, "baseline"),
        (600, "retry"),
    ]
    assert {one["retry.max_attempts"] for one in kept if one["strategy"] == "retry"} == {6}
    assert of_it.record is not None
    assert (of_it.record.scenarios, len(of_it.record.kept), of_it.record.objective) == (14, 4, "success_rate")
    predicted = [one.predicted["success_rate"] or 0 for one in of_it.record.kept]
    assert predicted[0] == pytest.approx(70, abs=3)
    assert predicted[1] > 99


def test_a_screen_with_too_little_room_says_how_much_it_needs(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="at least 4: two for each of 2 conditions"):
        screen(tmp_path, 3)


def test_a_study_without_a_screen_keeps_all(tmp_path: Path) -> None:
    file = tmp_path / "many.yaml"
    file.write_text(MANY.partition("design:")[0])
    read = StudyFile.read(file)
    plan = expand(read.study())
    assert StudyScreen(read).choose(read.study(), plan, Inputs(tmp_path)) is plan


def test_a_run_that_was_screened_goes_on_with_its_own_scenarios(tmp_path: Path) -> None:
    run, _ = simulate(MANY.partition("design:")[0], model(tmp_path), tmp_path / "run")
    planned = stored.plan(run)
    fewer = planned.model_copy(update={"scenarios": planned.scenarios[:3]})
    whole = expand(study(MANY.partition("design:")[0]))
    assert [one.id for one in only_kept(whole, fewer).scenarios] == [one.id for one in planned.scenarios[:3]]


@pytest.mark.slow
def test_the_report_says_what_was_kept_and_what_measuring_changed(tmp_path: Path) -> None:
    of_it, read, _ = screen(tmp_path, 4)
    record = of_it.record
    assert record is not None
    slower = model(tmp_path, MODEL.replace("workers: 4", "workers: 2"))
    run, _ = simulate(read.text.partition("design:")[0], slower, tmp_path / "run")
    as_if_measured(run)
    screened.write(run, record)
    assert screened.read(run) == record
    build(run)
    assert "What the screen kept, and what measuring corrected" in run.report.read_text()
    (made,) = section.sections(run, gather(run))
    frame: pd.DataFrame = made.tables[0].frame
    assert len(frame) == 4
    assert frame["measuring changed it by"].str.contains("points").all()
    assert "all were simulated with the model target" in made.words[0]
