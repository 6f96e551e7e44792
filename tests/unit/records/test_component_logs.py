"""What components wrote is kept for each round, whole or not at all, as the same bytes."""

from __future__ import annotations

from pathlib import Path

import pytest

from patternbench.records import component_logs
from patternbench.records.folder import RunFolder


def written(folder: Path, text: str) -> dict[str, list[Path]]:
    folder.mkdir()
    (folder / "served.log").write_text(text)
    (folder / "settings.json").write_text("{}")
    return {"shop": sorted(folder.iterdir())}


def test_the_same_log_is_kept_as_the_same_bytes(tmp_path: Path) -> None:
    run, logs = RunFolder(tmp_path / "run"), written(tmp_path / "log", "GET /\n")
    component_logs.keep(run, "00000", logs)
    component_logs.keep(run, "00001", logs)
    first, second = (component_logs.kept_of(run, name)["shop"] for name in ("00000", "00001"))
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]


def test_the_logs_of_a_round_are_distinguished_by_their_components(tmp_path: Path) -> None:
    run, logs = RunFolder(tmp_path / "run"), written(tmp_path / "log", "GET /\n")
    component_logs.keep(run, "00003", {"a": logs["shop"], "b": logs["shop"][:1]})
    kept = component_logs.kept_of(run, "00003")
    assert {name: [path.name for path in paths] for name, paths in kept.items()} == {
        "a": ["served.log.gz", "settings.json.gz"],
        "b": ["served.log.gz"],
    }
    assert component_logs.kept_of(run, "00004") == {}


def test_a_log_that_cannot_be_kept_leaves_nothing_half_written(tmp_path: Path) -> None:
    run = RunFolder(tmp_path / "run")
    with pytest.raises(FileNotFoundError):
        component_logs.keep(run, "00000", {"shop": [tmp_path / "gone"]})
    assert component_logs.kept_of(run, "00000") == {}
    assert not list(run.component_logs.glob("*"))
