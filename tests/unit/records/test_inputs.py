"""The files that a study names: copied and hashed when its run begins, and held to that hash ever after."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import pytest

from patternbench.plan.expand import expand
from patternbench.records.folder import RunFolder
from patternbench.records.inputs import Inputs, keep, kept
from patternbench.study.load import loads
from patternbench.terms.problems import InputError

STUDY = """\
patternbench: 1
name: x
system: {url: "https://127.0.0.1:1", ca: own.pem}
strategies: [{client: native, baseline: {}}]
workload:
  open: {schedule: {trace: [a.csv, b.csv]}}
  feeder: names.csv
  journey: [{path: /, body_file: order.json}, {path: /, json: {file: not.this, body_file: nor.this}}]
"""


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    made = RunFolder(tmp_path / "run")
    made.create()
    return made


def test_a_plan_knows_every_file_of_its_study_and_no_other_text() -> None:
    plan = expand(loads(STUDY, "x.yaml"))
    assert len(plan.scenarios) == 2
    assert sorted(plan.files()) == ["a.csv", "b.csv", "names.csv", "order.json", "own.pem"]


def test_files_are_copied_and_hashed(tmp_path: Path, run: RunFolder) -> None:
    (tmp_path / "a.csv").write_text("at_us\n5\n")
    noted = keep(run, ["a.csv", "a.csv"], tmp_path)
    digest = hashlib.sha256(b"at_us\n5\n").hexdigest()
    reported = {name: file.as_json() for name, file in noted.items()}
    assert reported == {"a.csv": {"sha256": digest, "bytes": 8, "copy": f"inputs/{digest[:12]}-a.csv"}}
    (tmp_path / "a.csv").write_text("at_us\n6\n")
    inputs = kept(run, noted, tmp_path)
    assert inputs.path("a.csv").read_text() == "at_us\n5\n"
    assert inputs.path("other.csv") == tmp_path / "other.csv"


def test_two_files_of_one_name_are_kept_apart(tmp_path: Path, run: RunFolder) -> None:
    for place in ("one", "two"):
        (tmp_path / place).mkdir()
        (tmp_path / place / "a.csv").write_text(place)
    inputs = kept(run, keep(run, ["one/a.csv", "two/a.csv"], tmp_path), tmp_path)
    assert [inputs.path(f"{place}/a.csv").read_text() for place in ("one", "two")] == ["one", "two"]


def test_a_copy_that_was_changed_or_is_gone_is_refused_by_name(tmp_path: Path, run: RunFolder) -> None:
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text(name)
    noted = keep(run, ["a.csv", "b.csv"], tmp_path)
    (run.path / noted["a.csv"].copied_to).write_text("another")
    (run.path / noted["b.csv"].copied_to).unlink()
    with pytest.raises(InputError) as error:
        kept(run, noted, tmp_path)
    changed, gone = error.value.problems
    assert "was changed since the run began" in changed.message
    assert "`a.csv`" in changed.hint
    assert "cannot be read" in gone.message


def test_a_file_that_changes_while_it_is_copied_is_refused(
    tmp_path: Path, run: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.csv").write_text("before")
    copies = shutil.copyfile

    def meanwhile_changed(source: Path, copy: Path) -> None:
        source.write_text("after")
        copies(source, copy)

    monkeypatch.setattr(shutil, "copyfile", meanwhile_changed)
    with pytest.raises(InputError, match="changed while it was copied"):
        keep(run, ["a.csv"], tmp_path)


def test_a_file_that_is_missing_is_named(tmp_path: Path, run: RunFolder) -> None:
    with pytest.raises(InputError, match="cannot be copied: No such file"):
        keep(run, ["nowhere.csv"], tmp_path)


def test_without_copies_files_lie_next_to_the_study() -> None:
    assert Inputs(Path("/studies")).path("a.csv") == Path("/studies/a.csv")
