"""What a model says of a run is believed only as it was written, of this model and of this run."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from tests.support.simulated import DECIDED, checked, model, simulate, verdicts

from patternbench.cli.main import main
from patternbench.records import screened
from patternbench.records.folder import RunFolder
from patternbench.records.screened import KeptScenario, ScreenRecord
from patternbench.simulation import model_file
from patternbench.terms.nearness import Nearness
from patternbench.terms.problems import InputError

DECIDING = ("p95", "failure_rate")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[Nearness, RunFolder]:
    """A run with a model that was right wherever it was checked, and one with a model that was not."""
    folder = tmp_path_factory.mktemp("simulated")
    models = {one: checked(model(folder), verdicts(one, *DECIDING)) for one in (Nearness.NEAR, Nearness.NOT_USABLE)}
    return {one: simulate(DECIDED, of_it, folder / one.name)[0] for one, of_it in models.items()}


@pytest.fixture
def far(runs: dict[Nearness, RunFolder], tmp_path: Path) -> RunFolder:
    return RunFolder(shutil.copytree(runs[Nearness.NOT_USABLE].path, tmp_path / "far"))


def recommended(run: RunFolder, capsys: pytest.CaptureFixture[str]) -> tuple[object, str]:
    """Return how ``recommend`` ends, and what it says on standard error."""
    with pytest.raises(SystemExit) as ended:
        main(["recommend", str(run.path)])
    return ended.value.code, " ".join(capsys.readouterr().err.split())


def test_a_check_that_was_changed_by_hand_lets_nothing_be_recommended(
    far: RunFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    far.held_out.write_text(far.held_out.read_text().replace("not usable", "within 10 %"))
    code, said = recommended(far, capsys)
    assert code == 2
    assert f"{far.held_out}: was changed after it was written, or is that of another run" in said
    assert "simulate the study again" in said


def test_the_check_of_another_model_lets_nothing_be_recommended(
    far: RunFolder, runs: dict[Nearness, RunFolder], capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copyfile(runs[Nearness.NEAR].held_out, far.held_out)
    code, said = recommended(far, capsys)
    assert (code, "is that of another run" in said) == (2, True)


def test_a_simulated_run_cannot_lose_its_mark(far: RunFolder, capsys: pytest.CaptureFixture[str]) -> None:
    tree = json.loads(far.manifest.read_text())
    assert tree.pop("simulated")
    far.manifest.write_text(json.dumps(tree))
    code, said = recommended(far, capsys)
    assert (code, f"{far.manifest}: was changed after the rounds of this run were measured" in said) == (2, True)


def test_a_check_of_before_without_a_hash_is_still_read(far: RunFolder, capsys: pytest.CaptureFixture[str]) -> None:
    tree = json.loads(far.held_out.read_text())
    assert tree.pop("seal")
    far.held_out.write_text(json.dumps(tree))
    assert "predictions of p95 were not usable" in recommended(far, capsys)[1]


@pytest.mark.parametrize("old", ["workers: 4", "not usable", "rounds: 6"])
def test_a_model_that_was_changed_after_it_was_checked_is_refused_until_its_check_is_taken_out(
    old: str, tmp_path: Path
) -> None:
    file = tmp_path / "checked.yaml"
    model_file.write(checked(model(tmp_path), verdicts(Nearness.NOT_USABLE, "p95")).model, file)
    assert model_file.read(file).model.held_out is not None
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, {"workers: 4": "workers: 5", "rounds: 6": "rounds: 60"}.get(old, "within 10 %")))
    with pytest.raises(InputError, match=r"checked\.yaml:\d+: .*the check no longer holds.*take `held_out` out of it"):
        model_file.read(file)
    file.write_text(file.read_text().partition("held_out:")[0])
    assert model_file.read(file).model.held_out is None


def test_a_model_that_is_renamed_keeps_its_check(tmp_path: Path) -> None:
    file = tmp_path / "checked.yaml"
    model_file.write(checked(model(tmp_path), verdicts(Nearness.NEAR, "p95")).model, file)
    file.write_text(file.read_text().replace("name: target", "name: mine\nabout: of our shop"))
    assert model_file.read(file).model.held_out is not None


def test_what_a_screen_kept_is_believed_only_as_it_was_written(far: RunFolder) -> None:
    kept = [KeptScenario(scenario="a", predicted={"p95": 0.125})]
    record = ScreenRecord(model="m", sha256="0" * 64, objective="p95", minimise=True, rounds=6, scenarios=9, kept=kept)
    screened.write(far, record)
    assert screened.read(far) == record
    far.screen.write_text(far.screen.read_text().replace("0.125", "0.126"))
    with pytest.raises(InputError, match=r"screen\.json: was changed after it was written"):
        screened.read(far)
