"""The file of a history: lines that are only added, linked by hashes, and refused where anything is wrong with them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from patternbench.records.history import HistoryFile, HistoryRun, MachineFacts, RecordedEffect
from patternbench.terms.problems import InputError

EFFECT = RecordedEffect(
    key="k", kind="claim", name="a retry waits", response="p95", relative=True, value=12.5, low=10.0, high=15.0
)


def run(number: int) -> HistoryRun:
    return HistoryRun(
        run=f"run-{number}",
        folder=f"orders-{number}",
        study="orders",
        study_sha256="0" * 64,
        started=f"2026-01-{number:02d}T00:00:00Z",
        patternbench="0.1.0",
        machine=MachineFacts(cpu="one", cores=2, kernel="6"),
        effects=(EFFECT,),
    )


def kept(folder: Path, count: int = 3) -> HistoryFile:
    file = HistoryFile(folder)
    with file.adding():
        for number in range(1, count + 1):
            file.append(run(number))
    return file


def changed(file: HistoryFile, number: int, **fields: Any) -> None:
    """Change a line by hand."""
    lines = file.path.read_text(encoding="utf-8").splitlines()
    lines[number - 1] = json.dumps(json.loads(lines[number - 1]) | fields)
    file.path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def refused(file: HistoryFile) -> str:
    with pytest.raises(InputError) as error:
        file.runs()
    return str(error.value.problems[0])


def test_what_was_added_is_read_back_in_its_order(tmp_path: Path) -> None:
    assert kept(tmp_path / "new").runs() == [run(1), run(2), run(3)]
    assert HistoryFile(tmp_path / "none").runs() == []


def test_a_run_is_on_disk_before_append_returns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[bytes] = []
    file = HistoryFile(tmp_path)
    monkeypatch.setattr(os, "fsync", lambda _: synced.append(file.path.read_bytes()))
    file.append(run(1))
    assert synced[0] == file.path.read_bytes()


def test_a_line_that_a_kill_left_half_written_is_ignored_and_then_cut_off(tmp_path: Path) -> None:
    file = kept(tmp_path, 2)
    with file.path.open("ab") as half:
        half.write(b'{"history": 1, "run"')
    assert len(file.runs()) == 2
    with file.adding() as runs:
        assert len(runs) == 2
        file.append(run(3))
    assert file.runs() == [run(1), run(2), run(3)]


def test_a_line_whose_value_was_changed_is_refused_by_its_number(tmp_path: Path) -> None:
    file = kept(tmp_path)
    effect = EFFECT.model_dump() | {"value": 99.0}
    changed(file, 2, effects=[effect])
    assert "line 2 was changed after it was written" in refused(file)


@pytest.mark.parametrize("lines", [(1, 3), (1, 2, 2, 3), (2, 1, 3), (2, 3)])
def test_a_line_that_was_taken_out_repeated_or_moved_is_refused(lines: tuple[int, ...], tmp_path: Path) -> None:
    file = kept(tmp_path)
    whole = file.path.read_text(encoding="utf-8").splitlines()
    file.path.write_text("".join(f"{whole[number - 1]}\n" for number in lines), encoding="utf-8")
    assert "does not follow the line before it" in refused(file)


def test_a_history_of_another_version_is_refused_with_what_to_do(tmp_path: Path) -> None:
    file = kept(tmp_path, 1)
    changed(file, 1, history=2)
    assert "another version" in refused(file)
    assert "with the version of patternbench that wrote it" in refused(file)


@pytest.mark.parametrize("text", ["[]", "nonsense", "[" * 100_000, '{"history": 1}'])
def test_a_file_that_is_no_history_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "history.jsonl").write_text(text + "\n", encoding="utf-8")
    assert "line 1" in refused(HistoryFile(tmp_path))


def test_a_field_that_is_not_known_is_refused_even_where_its_hash_is_right(tmp_path: Path) -> None:
    from patternbench.records.lines import append, linked_line  # noqa: PLC0415 - what no caller writes

    file = HistoryFile(tmp_path)
    append(file.path, linked_line(run(1).model_dump(mode="json") | {"more": 1}, ""))
    assert "has another form at more" in refused(file)


def test_nothing_stays_of_a_run_that_the_disk_did_not_take(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = kept(tmp_path, 1)
    before = file.path.read_bytes()

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space") as error:
        file.append(run(2))
    assert error.value.filename == str(file.path)
    assert file.path.read_bytes() == before


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    place = tmp_path / "file"
    place.write_text("")
    with pytest.raises(InputError) as error, HistoryFile(place / "in").adding():
        pass
    assert str(place) in str(error.value.problems[0])
