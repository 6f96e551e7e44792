"""The speed probe: what a study asks for, what is noted, kept and read, and what a report says of it."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import gmean
from tests.support.studies import changed, problems

from patternbench.observe.seam import LoadTimes, ObservationError, RoundFiles, WatchedRound
from patternbench.plan.expand import expand
from patternbench.run.before import evidence
from patternbench.speed import samples
from patternbench.speed.observer import OBSERVER
from patternbench.speed.probe import Samples, probing
from patternbench.speed.question import SpeedProbe
from patternbench.speed.report.section import sections
from patternbench.speed.responses import PROBE_TIME
from patternbench.study.load import loads
from patternbench.study.watching import Watch

HERE = sorted(os.sched_getaffinity(0))
NOWHERE = 4095
RUN = Path("no-run")
"""The section needs the table of rounds alone."""


def watched(folder: Path, probe: SpeedProbe | None) -> WatchedRound:
    return WatchedRound({}, folder, Watch(speed_probe=probe), LoadTimes())


def kept(folder: Path) -> RoundFiles:
    return RoundFiles({}, folder)


def probe_of(text: str) -> SpeedProbe | None:
    return loads(changed(speed_probe=text), "study.yaml").speed_probe


def load_of(requested: WatchedRound, seconds: float) -> None:
    """A load that begins now and takes some time."""
    requested.load.began = requested.load.measured_from = time.time()
    time.sleep(seconds)
    requested.load.ended = time.time()


def test_a_round_is_probed_before_and_after_its_load_and_never_during_it(tmp_path: Path) -> None:
    requested = watched(tmp_path / "speed", SpeedProbe(cpus=(HERE[0],)))
    with OBSERVER.watch(requested):
        load_of(requested, 0.05)
    seen = OBSERVER.read(kept(tmp_path / "speed"))
    assert seen is not None
    before, after = seen[seen["second"] < 0], seen[seen["second"] > requested.load.ended - requested.load.began]
    assert len(before) > 1 and len(after) > 1
    assert len(before) + len(after) == len(seen)
    assert set(seen["cpu"]) == {HERE[0]}
    assert OBSERVER.measured(seen, {})[PROBE_TIME] == pytest.approx(gmean(seen["cpu_time"]))
    assert 0 < OBSERVER.measured(seen, {})[PROBE_TIME] < 0.1


def test_no_probe_runs_next_to_the_load_that_could_move_it(tmp_path: Path) -> None:
    requested = watched(tmp_path / "speed", SpeedProbe(cpus=(HERE[0],)))
    threads = set(threading.enumerate())
    with OBSERVER.watch(requested):
        assert set(threading.enumerate()) == threads
        load_of(requested, 0.0)


def test_samples_taken_during_the_load_by_earlier_versions_are_no_speed_of_the_machine(tmp_path: Path) -> None:
    earlier = pd.DataFrame({"second": [0.1, 0.2], "cpu": [0, 0], "cpu_time": [4e-5, 4e-5]})
    samples.write(tmp_path / "speed", earlier)
    seen = OBSERVER.read(kept(tmp_path / "speed"))
    assert seen is not None
    assert len(seen) == 2
    assert pd.isna(OBSERVER.measured(seen, {})[PROBE_TIME])


def test_all_cpus_are_probed_in_turn_if_none_is_named(tmp_path: Path) -> None:
    requested = watched(tmp_path / "speed", SpeedProbe())
    with OBSERVER.watch(requested):
        load_of(requested, 0.0)
    seen = OBSERVER.read(kept(tmp_path / "speed"))
    assert seen is not None
    assert set(seen["cpu"]) == set(HERE)


def test_the_probe_moves_no_thread_but_its_own() -> None:
    with probing(HERE[:1], 0.001):
        time.sleep(0.05)
        assert sorted(os.sched_getaffinity(0)) == HERE
        assert sorted(os.sched_getaffinity(os.getpid())) == HERE


def test_the_probe_ends_with_the_round() -> None:
    with probing(HERE[:1], 0.001) as noted:
        time.sleep(0.02)
    count = len(noted.rows)
    time.sleep(0.02)
    assert len(noted.rows) == count > 0


def test_a_study_without_a_probe_has_no_column_and_no_file(tmp_path: Path) -> None:
    requested = watched(tmp_path / "speed", None)
    with OBSERVER.watch(requested):
        pass
    assert OBSERVER.read(kept(tmp_path / "speed")) is None
    assert list(OBSERVER.responses_of(requested.watch)) == []


def test_samples_within_the_load_do_not_count() -> None:
    before, after = Samples([(9.0, 0, 1.0), (10.5, 0, 2.0)]), Samples([(12.0, 0, 3.0), (13.5, 0, 4.0)])
    rows = samples.of_pauses(before, after, LoadTimes(began=9.5, measured_from=10.0, ended=13.0))
    assert rows.to_dict("list") == {"second": [-0.5, 4.0], "cpu": [0, 0], "cpu_time": [1.0, 4.0]}


def test_a_round_whose_load_never_ended_has_no_probe_time(tmp_path: Path) -> None:
    samples.write(tmp_path / "speed", samples.of_pauses(Samples([(1.0, 0, 1.0)]), Samples(), LoadTimes()))
    seen = OBSERVER.read(kept(tmp_path / "speed"))
    assert seen is not None
    assert pd.isna(OBSERVER.measured(seen, {})[PROBE_TIME])


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "speed").mkdir()
    (tmp_path / "speed" / "samples.parquet").write_bytes(b"PAR1")
    with pytest.raises(ObservationError, match=r"speed/samples\.parquet cannot be read"):
        OBSERVER.read(kept(tmp_path / "speed"))


def test_a_cpu_that_is_not_there_is_refused_before_anything_starts() -> None:
    (problem,) = OBSERVER.problems(Watch(speed_probe=SpeedProbe(cpus=(NOWHERE,))))
    assert problem.path == "speed_probe.cpus"
    assert str(NOWHERE) in str(problem)
    assert OBSERVER.problems(Watch(speed_probe=SpeedProbe(cpus=tuple(HERE)))) == []


@pytest.mark.parametrize(
    ("text", "cpus"),
    [("{}", ()), ("{cpus: all}", ()), ("{cpus: 1}", (1,)), ("{cpus: '0-1,3'}", (0, 1, 3)), ("{cpus: [0, 2]}", (0, 2))],
)
def test_cpus_are_written_as_in_a_system_file(text: str, cpus: tuple[int, ...]) -> None:
    probe = probe_of(text)
    assert probe is not None
    assert probe.cpus == cpus


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{cpus: 0..3}", "names no CPUs"),
        ("{cpus: 1.5}", "speed_probe.cpus"),
        ("{cpus: -1}", "speed_probe.cpus"),
        ("{cpus: [a]}", "speed_probe.cpus"),
        ("{every: 0s}", "speed_probe.every"),
        ("{cpu: 0}", "speed_probe.cpu"),
        ("yes please", "speed_probe"),
    ],
)
def test_a_probe_that_makes_no_sense_is_refused(text: str, message: str) -> None:
    (problem,) = problems(changed(speed_probe=text))
    assert message in f"{problem.path} {problem}"


def test_models_take_the_probes_time_where_there_is_a_probe() -> None:
    study = loads(changed(speed_probe="{}", models="[p95 ~ C(strategy) + probe_time]"), "study.yaml")
    evidence.check(study, expand(study))


def probed(times: Sequence[float], scenarios: int = 2) -> pd.DataFrame:
    """Rounds of some scenarios in turn, one block after another."""
    numbers = np.arange(len(times))
    rounds = pd.DataFrame({"round": numbers, "block": numbers // scenarios, "scenario": numbers % scenarios})
    return rounds.assign(status="done", valid=True, **{PROBE_TIME: times})


def test_a_report_says_how_uneven_the_machine_was() -> None:
    (section,) = sections(RUN, probed([4e-5] * 8 + [6e-5, 8e-5]))
    assert "1 times as long in the middle round and 2 times as long in the slowest" in section.words[0]
    assert not any("depends on the scenario" in text for text in section.words)
    assert len(section.figures) == 1


def test_rounds_that_do_not_count_say_nothing_of_the_machine() -> None:
    rounds = probed([4e-5] * 8 + [6e-5, 8e-5])
    for lost in ({"valid": rounds.index != 9}, {"status": np.where(rounds.index == 9, "failed", "done")}):
        (section,) = sections(RUN, rounds.assign(**lost))
        assert "1.5 times as long in the slowest" in section.words[0]


def test_a_probe_that_a_scenario_moves_is_said_to_be_no_covariate() -> None:
    noise = np.random.default_rng(1).normal(0, 0.01, 40)
    moved = 4e-5 * np.exp(noise - 0.05 * (np.arange(40) % 2))
    (section,) = sections(RUN, probed(list(moved)))
    assert any("depends on the scenario" in text and "don't use `probe_time`" in text for text in section.words)


def test_a_report_without_a_probe_says_nothing_of_it() -> None:
    rounds = pd.DataFrame({"round": [0], "status": "done", "valid": True})
    assert sections(RUN, rounds) == []
    assert sections(RUN, rounds.assign(**{PROBE_TIME: float("nan")})) == []


def test_a_clock_that_is_set_back_during_a_round_loses_no_sample(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    requested, clock = watched(tmp_path / "speed", SpeedProbe(cpus=(HERE[0],))), time.time
    with OBSERVER.watch(requested):
        monkeypatch.setattr(time, "time", lambda: clock() - 3600)
        load_of(requested, 0.0)
    seen = OBSERVER.read(kept(tmp_path / "speed"))
    assert seen is not None
    assert (seen["second"] < 0).sum() > 1
    assert (seen["second"] > 0).sum() > 1
