"""Files that a verb writes: whole or not at all, and named where they can't be written."""

from __future__ import annotations

import errno
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from patternbench.cli.calibrate import calibrate
from patternbench.cli.compare import compare
from patternbench.cli.gate import gate
from patternbench.cli.main import main
from patternbench.records.outputs import write_whole, written_whole
from patternbench.terms.problems import InputError


def full(path: Path, content: bytes) -> int:
    """A disk that has room for half a file."""
    with path.open("wb") as file:
        file.write(content[: len(content) // 2])
    raise OSError(errno.ENOSPC, "No space left on device")


def test_what_a_full_disk_cuts_off_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = tmp_path / "kept.json"
    kept.write_text("old")
    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(InputError, match=r"kept\.json: cannot be written: No space left on device"):
        write_whole(kept, b"a new text")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("kept.json", "old")]


def test_a_file_that_is_rewritten_keeps_its_rights_and_a_link_its_target(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_text("old")
    real.chmod(0o600)
    link.symlink_to(real)
    write_whole(link, b"new")
    assert (link.is_symlink(), real.read_text(), real.stat().st_mode & 0o777) == (True, "new", 0o600)


def test_a_file_of_the_longest_name_is_written_and_a_device_is_written_to(tmp_path: Path) -> None:
    write_whole(tmp_path / ("n" * 255), b"text")
    write_whole(Path("/dev/null"), b"text")
    assert Path("/dev/null").is_char_device()


@pytest.mark.parametrize("flag", ["--save", "--html"])
@pytest.mark.parametrize("place", range(3))
def test_none_of_several_inputs_is_written_over_even_by_force(place: int, flag: str, tmp_path: Path) -> None:
    tables = [tmp_path / f"{number}.csv" for number in range(3)]
    for table in tables:
        table.write_text("strategy,p50\nnone,1\n")
    line = [f"{tables[0]},{tables[1]}", str(tables[2]), flag, str(tables[place]), "--force"]
    done = CliRunner().invoke(compare, line)
    assert f"{tables[place]}: is read by this command, so it cannot be written" in str(done.exception)
    assert tables[place].read_text() == "strategy,p50\nnone,1\n"


@pytest.mark.parametrize("place", range(2))
def test_verdicts_are_written_over_no_input_and_no_other_file_but_older_verdicts(place: int, tmp_path: Path) -> None:
    tables, other, verdicts = [tmp_path / "0.csv", tmp_path / "1.csv"], tmp_path / "notes.txt", tmp_path / "gate.xml"
    for table in tables:
        table.write_text("strategy,p50\n" + "none,1\nnone,2\nnone,3\n")
    other.write_text("mine")
    line = [*map(str, tables), "--fail-if", "p50 > +10%", "--junit"]
    refused = CliRunner().invoke(compare, [*line, str(tables[place])])
    assert f"{tables[place]}: is read by this command, so it cannot be written" in str(refused.exception)
    assert tables[place].read_text().startswith("strategy")
    assert f"{other}: is already there" in str(CliRunner().invoke(compare, [*line, str(other)]).exception)
    twice = CliRunner().invoke(compare, [*line, str(verdicts), "--save", str(verdicts)])
    assert f"{verdicts}: is named for several outputs" in str(twice.exception)
    for _ in range(2):
        CliRunner().invoke(compare, [*line, str(verdicts)])
        assert verdicts.read_bytes().startswith(b"<?xml")
    assert other.read_text() == "mine"


def test_a_gate_does_not_write_its_verdicts_over_its_study(tmp_path: Path) -> None:
    study = tmp_path / "study.yaml"
    study.write_text("patternbench: 1\n")
    line = ["--base", "http://127.0.0.1:1", "--aa", "--study", str(study), "--junit", str(study)]
    assert "is read by this command" in str(CliRunner().invoke(gate, line).exception)
    assert study.read_text() == "patternbench: 1\n"


@pytest.mark.parametrize("place", ["spans.json", "later.json"])
def test_a_model_is_not_written_over_the_traces_that_it_is_made_of_or_held_against(place: str, tmp_path: Path) -> None:
    spans, later = tmp_path / "spans.json", tmp_path / "later.json"
    for file in (spans, later):
        file.write_text("{}")
    line = [str(spans), "--later", str(later), "--out", str(tmp_path / place), "--force"]
    assert f"{tmp_path / place}: is read by this command" in str(CliRunner().invoke(calibrate, line).exception)
    assert (spans.read_text(), later.read_text()) == ("{}", "{}")


def test_an_export_that_fails_loses_no_older_one(tmp_path: Path) -> None:
    older = tmp_path / "rounds.csv"
    older.write_text("old")
    with pytest.raises(KeyError), written_whole(older) as draft:
        draft.write_text("half")
        raise KeyError
    assert [path.read_text() for path in tmp_path.iterdir()] == ["old"]


@pytest.mark.parametrize("verb", [["example", "quickstart"], ["init", "--command", "sh", "--yes"]], ids=lambda v: v[0])
def test_on_a_full_disk_a_verb_names_the_file_that_it_writes_and_leaves_no_half_of_it(
    verb: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(SystemExit):
        main([*verb, "--out", str(tmp_path)])
    message = capsys.readouterr().err
    assert f"{tmp_path}/" in message
    assert "cannot be written: No space left on device" in message
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


@pytest.mark.parametrize("verb", [["example", "quickstart"], ["init", "--command", "sh", "--yes"], ["run", "s.yaml"]])
def test_in_a_folder_that_was_deleted_a_verb_says_so(
    verb: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    shutil.rmtree(here)
    study = tmp_path / "s.yaml"
    study.write_text(
        "patternbench: 1\nname: x\nsystem: target\nworkload: {closed: {users: 1, successes: 1}, request: {path: /}}\n"
        "strategies: [{client: native, baseline: {}}]\n"
    )
    with pytest.raises(SystemExit) as ended:
        main([str(study) if word == "s.yaml" else word for word in verb])
    monkeypatch.chdir(tmp_path)
    assert ended.value.code == 2
    assert "the folder that you are in was deleted" in " ".join(capsys.readouterr().err.split())


def test_a_name_that_is_too_long_is_not_called_a_circle_of_links(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    with pytest.raises(SystemExit):
        main(["report", str(tmp_path / ("n" * 5000))])
    assert "circle" not in capsys.readouterr().err
