"""What a command may write: nothing of the user's without --force, no input, no file of a run."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner

from patternbench.cli.fit import fit
from patternbench.cli.recommend import recommend
from patternbench.records import csv_file
from patternbench.records.outputs import check_outputs, write_whole, written_whole
from patternbench.terms.problems import InputError

TABLE = "users,p95\n" + "".join(f"{users},{users / 100}\n" for users in range(1, 9))


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "run"
    folder.mkdir()
    for name in ("plan.json", "study.yaml", "journal.jsonl"):
        (folder / name).write_text("a record")
    return folder


def refused(*requested: Path, read: tuple[Path, ...] = (), force: bool = False) -> str:
    with pytest.raises(InputError) as raised:
        check_outputs(requested, read, force)
    return str(raised.value)


def test_an_existing_file_is_written_over_only_with_force(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("the user's own")
    assert "already there; type --force" in refused(tmp_path / "a.json")
    check_outputs([tmp_path / "a.json"], force=True)


def test_an_input_is_never_written_over_by_whatever_name(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text(TABLE)
    (tmp_path / "link.csv").hardlink_to(tmp_path / "data.csv")
    assert "is read by this command" in refused(tmp_path / "link.csv", read=(tmp_path / "data.csv",), force=True)


OF_A_RUN = [
    *("study.yaml", "study.json", "plan.json", "manifest.json", "journal.jsonl", ".lock"),
    *("attempts/00000.parquet", "component-logs/00000/a.log", "observed/00000/x", "load/00000/summary.json"),
    *("inputs/trace.csv", "logs/a.log", "simulated.json", "held-out.json", "later-traces.json", "model.yaml"),
    *("rounds.parquet", "steps.parquet", "screen.json", "report.html", "figures/a.svg", "tables/a.csv"),
]
"""What a run's folder holds, by the names that are on disk: a list of its own, apart from that of the rule."""


@pytest.mark.parametrize("name", OF_A_RUN)
def test_no_file_of_a_run_is_written_even_with_force(run: Path, name: str) -> None:
    assert "is a file of a run" in refused(run / name, force=True)


def test_a_link_to_a_record_is_no_way_around(run: Path) -> None:
    (run.parent / "out.json").symlink_to(run / "journal.jsonl")
    assert "is a file of a run" in refused(run.parent / "out.json", force=True)


def test_a_device_and_an_export_of_a_run_may_be_written(run: Path) -> None:
    check_outputs([Path("/dev/null"), run / "export" / "rounds.csv", run / "models.json"])


def test_two_outputs_of_one_name_are_refused(tmp_path: Path) -> None:
    assert "several outputs" in refused(tmp_path / "a", tmp_path / "b" / ".." / "a")


def test_a_model_is_never_saved_over_the_table_that_it_was_fitted_to(tmp_path: Path) -> None:
    data = tmp_path / "data.csv"
    data.write_text(TABLE)
    result = CliRunner().invoke(fit, [str(data), "--formula", "p95 ~ users", "--save", str(data), "--force"])
    assert isinstance(result.exception, InputError)
    assert data.read_text() == TABLE


def test_a_recommendation_is_never_saved_over_a_runs_journal(run: Path) -> None:
    result = CliRunner().invoke(recommend, [str(run), "--save", str(run / "journal.jsonl"), "--force"])
    assert isinstance(result.exception, InputError)
    assert (run / "journal.jsonl").read_text() == "a record"


def test_a_full_disk_is_said_of_the_file_that_was_to_be_written(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text(TABLE)
    result = CliRunner().invoke(fit, [str(tmp_path / "data.csv"), "--formula", "p95 ~ users", "--save", "/dev/full"])
    assert "/dev/full" in str(result.exception)
    assert "No space left" in str(result.exception)


def test_a_table_is_compressed_as_the_name_of_its_file_says(tmp_path: Path) -> None:
    path = tmp_path / "table.csv.gz"
    with written_whole(path) as draft:
        csv_file.write(pd.DataFrame({"a": [1, 2]}), draft)
    assert pd.read_csv(path)["a"].tolist() == [1, 2]
    assert path.read_bytes().startswith(b"\x1f\x8b")


def test_two_processes_of_one_number_in_one_folder_have_drafts_of_their_own(tmp_path: Path) -> None:
    with written_whole(tmp_path / "a.html") as one, written_whole(tmp_path / "b.html") as other:
        one.write_text("a")
        other.write_text("b")
    assert ((tmp_path / "a.html").read_text(), (tmp_path / "b.html").read_text()) == ("a", "b")


def test_a_file_that_is_mounted_by_itself_is_written_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def busy(*_: object) -> None:
        raise OSError(errno.EBUSY, "Device or resource busy")

    monkeypatch.setattr(Path, "replace", busy)
    (tmp_path / "report.html").write_text("old")
    write_whole(tmp_path / "report.html", b"new")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("report.html", "new")]


def test_a_file_in_a_folder_that_takes_no_other_is_written_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "report.html").write_text("old")
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with written_whole(tmp_path / "report.html") as draft:
        assert draft == tmp_path / "report.html"
