"""Calibration: what is held out, and that a system which is exactly as a model says is found again from its rounds."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.support.answers_of_commands import fits
from tests.support.simulated import DECIDED, MODEL, as_if_measured, model, simulate

from patternbench.cli import calibrate as calibrate_command
from patternbench.cli.main import cli
from patternbench.records.folder import RunFolder
from patternbench.simulation import evidence, model_file
from patternbench.simulation.calibrating import Calibration, calibrate, quantiles
from patternbench.simulation.fitting import candidates
from patternbench.terms.nearness import Nearness
from patternbench.terms.problems import InputError, Problem

SLOWER = MODEL.replace("    times:", "    slowdown: [{at: 1, factor: 1}, {at: 4, factor: 1.2}]\n    times:")
MEASURED = """\
patternbench: 1
name: by-load
system: target
rounds: 4
warm_up: 1s
workload:
  open: {rate: [100, 250, 400, 500, 620], spacing: poisson, duration: 12s}
  request: {path: /bytes/10, timeout: 1s}
faults:
  - abort: {percentage: [0, 20], status: 503}
strategies:
  - {client: native, baseline: {}}
  - {client: native, retry: {max_attempts: 3, backoff: {fixed: {delay: 20ms}}}}
recommend: {objectives: [minimise call_success_p95]}
"""


@dataclass(frozen=True)
class Made:
    run: RunFolder
    calibration: Calibration


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """The rounds of a target whose work takes a fifth longer when all its workers are busy."""
    folder = tmp_path_factory.mktemp("measured")
    run, _ = simulate(MEASURED, model(folder, SLOWER), folder / "run")
    return as_if_measured(run)


def rates(scenarios: tuple[evidence.MeasuredScenario, ...]) -> list[object]:
    return [one.levels["rate"] for one in scenarios]


def test_every_other_level_of_load_is_held_out_and_all_faults_and_patterns(measured: RunFolder) -> None:
    source = evidence.read(measured.path)
    divided = evidence.divide(source, (), ())
    assert rates(divided.used) == [100, 400, 620]
    assert len(divided.held_out) == 20 - 3
    levels = [one.levels for one in divided.held_out]
    plain = [one for one in levels if one["strategy"] == "baseline" and not one["abort.percentage"]]
    assert [one["rate"] for one in plain] == [250, 500]
    assert divided.rule == "every other level of load, the second lowest first; all rounds with a fault or a pattern"


@pytest.mark.parametrize("name", ["rate", "open.rate", "workload.open.rate"])
def test_levels_that_are_named_are_held_out_instead(measured: RunFolder, name: str) -> None:
    divided = evidence.divide(evidence.read(measured.path), (f"{name}=400,620",), ())
    assert rates(divided.used) == [100, 250, 500]
    assert divided.rule.startswith("as asked: rate 400, 620;")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("rat=100", "did you mean"),
        ("rate=101", "no such level"),
        ("rate", "isn't a factor of the run with its level"),
        ("rate=100,250,400,500,620", "no round to calibrate from"),
    ],
)
def test_levels_that_are_not_there_are_refused(measured: RunFolder, text: str, why: str) -> None:
    with pytest.raises(InputError, match=why):
        evidence.divide(evidence.read(measured.path), (text,), ())


def test_a_simulated_run_is_no_evidence(tmp_path: Path) -> None:
    run, _ = simulate(DECIDED, model(tmp_path), tmp_path / "run")
    with pytest.raises(InputError, match="was simulated"):
        evidence.read(run.path)


def test_the_round_that_a_calibration_cannot_use_is_named_with_what_to_do(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    with pytest.raises(InputError) as by_library:
        evidence._summary(run, "00003")
    (problem,) = by_library.value.problems
    assert (problem.file, problem.hint) == (str(run.load / "00003"), "calibrate from a run with the client native")
    assert "a client of a library drove this round" in problem.message
    (run.load / "00003").mkdir(parents=True)
    (run.load / "00003" / "summary.json").write_text("{}")
    with pytest.raises(InputError) as damaged:
        evidence._summary(run, "00003")
    (problem,) = damaged.value.problems
    assert problem.file == str(run.load / "00003" / "summary.json")
    assert problem.message.startswith("is damaged")


def test_a_quantile_function_never_falls_and_leaves_out_the_way() -> None:
    import numpy as np  # noqa: PLC0415

    times = quantiles(np.random.default_rng(1).exponential(0.005, 5_000) + 0.001, scale=1.0, rtt_s=0.001)
    points = times.quantiles or []
    assert points[0].time.us < 50
    assert next(one.time.us for one in points if one.share == 0.5) == pytest.approx(3466, rel=0.05)


def test_the_workers_to_try_are_those_that_were_busy() -> None:
    assert candidates(800, 0.005, reached=True) == [2, 3, 4, 5]
    assert min(candidates(300, 0.005, reached=False)) == 2


@pytest.fixture(scope="module")
def made(measured: RunFolder) -> Made:
    return Made(measured, calibrate(measured.path))


@pytest.mark.slow
def test_the_workers_and_the_slow_down_of_a_system_are_found(made: Made) -> None:
    found = made.calibration.model
    service = found.services["service"]
    assert service.workers == 4
    assert service.slowdown
    assert service.slowdown[-1].factor == pytest.approx(1.2, abs=0.1)
    came = found.calibrated
    assert came is not None
    assert (came.rounds, len(came.used)) == (12, 3)
    assert came.error is not None
    assert came.error < 0.05


@pytest.mark.slow
def test_predictions_of_what_was_held_out_are_near(made: Made) -> None:
    checked = made.calibration.model.held_out
    assert checked is not None
    assert len(checked.scenarios) == 17
    assert checked.verdicts["goodput"] in (Nearness.NEAR, Nearness.INCONCLUSIVE)
    assert Nearness.NOT_USABLE not in checked.verdicts.values()
    assert {"p50", "p95", "p99", "failure_rate", "amplification", "call_success_p95"} <= checked.verdicts.keys()


@pytest.mark.slow
def test_a_model_that_was_calibrated_decides_about_the_same_study(made: Made, tmp_path: Path) -> None:
    file = tmp_path / "model.yaml"
    model_file.write(made.calibration.model, file)
    run, _ = simulate(MEASURED, model_file.read(file), tmp_path / "run")
    done = CliRunner().invoke(cli, ["recommend", str(run.path)])
    assert done.exit_code == 0, done.output


@pytest.mark.slow
def test_the_command_writes_a_model_and_prints_how_far_it_is_off(measured: RunFolder, tmp_path: Path) -> None:
    out = tmp_path / "model.yaml"
    options = ["--out", str(out), "--hold-out", "rate=500", "--json"]
    done = CliRunner().invoke(cli, ["calibrate", str(measured.path), *options])
    assert done.exit_code == 0, done.output
    fits("calibrate", done.stdout)
    held_out = json.loads(done.stdout)["held_out"]
    assert held_out["rule"].startswith("as asked: rate 500")
    assert model_file.read(out).model.held_out is not None


@pytest.mark.slow
def test_a_model_is_held_against_a_later_run_with_other_patterns(measured: RunFolder, tmp_path: Path) -> None:
    retry = "{retry: {max_attempts: 3, backoff: {fixed: {delay: 5ms}}}}"
    stack = f"  - {{client: native, stack: [{retry}, {{retry_budget: {{ratio: 0.1, capacity: 10}}}}]}}\n"
    stacked = MEASURED.replace("strategies:\n", f"strategies:\n{stack}")
    later, _ = simulate(stacked.replace("rounds: 4", "rounds: 2"), model(tmp_path, SLOWER), tmp_path / "later")
    found = calibrate(measured.path, ("rate=500",), (), others=(as_if_measured(later).path,)).model.held_out
    assert found is not None
    assert found.rule.endswith(f"all rounds of {later.path}")
    assert "retry+retry_budget" in {one.strategy for one in found.covers}
    assert found.verdicts["goodput"] in (Nearness.NEAR, Nearness.INCONCLUSIVE)


def test_what_is_damaged_of_a_run_is_said_before_a_model_rests_on_its_other_rounds(
    measured: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_: object) -> Calibration:
        raise InputError(Problem("stopped here"))

    monkeypatch.setattr(calibrate_command, "calibrated", stopped)
    whole, damaged = (shutil.copytree(measured.path, tmp_path / name) for name in ("whole", "damaged"))
    sorted((damaged / "attempts").glob("*.parquet"))[0].unlink()
    told = {}
    for run in (whole, damaged):
        done = CliRunner().invoke(
            cli, ["calibrate", str(whole), "--check", str(run), "--out", str(tmp_path / "m.yaml")]
        )
        told[run] = " ".join(done.stderr.split())
    assert "left out" not in told[whole]
    assert f"{damaged}: 1 round is left out; the first: its records are damaged" in told[damaged]
