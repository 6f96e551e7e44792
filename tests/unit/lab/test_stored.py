"""How many bytes a component keeps in its folder: its files, and neither its logs nor what is not there any more."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pytest

from patternbench.lab.host import stored
from patternbench.lab.host.running import RunningComponent


@dataclass(frozen=True)
class _Launch:
    log: str


@dataclass(frozen=True)
class _Component:
    """As much of a component as is looked at: its folder, and where it logs."""

    folder: Path
    launch: _Launch


def bytes_of(folder: Path, log: str = "") -> int | None:
    return stored.bytes_of(cast(RunningComponent, _Component(folder, _Launch(log))))


def filled(folder: Path, sizes: dict[str, int]) -> Path:
    """Make files of these sizes below a folder."""
    for name, size in sizes.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"x" * size)
    return folder


FILES = {"data/one": 100, "data/deep/two": 20, "three": 3, "out.log": 5000}
"""Files of a component that keeps 123 bytes."""


@pytest.mark.parametrize("log", ["", "logs", "var/logs"])
def test_what_a_component_logs_is_not_what_it_keeps(tmp_path: Path, log: str) -> None:
    own = {f"{log}/access": 7000, f"{log}/old/access.1": 7000} if log else {}
    assert bytes_of(filled(tmp_path, FILES | own), log) == 123


def test_a_folder_of_data_that_is_called_as_that_of_logs_elsewhere_is_kept(tmp_path: Path) -> None:
    assert bytes_of(filled(tmp_path, {"logs/access": 7000, "data/logs/one": 11}), "logs") == 11


def test_a_link_counts_as_itself_and_not_as_what_it_leads_to(tmp_path: Path) -> None:
    filled(tmp_path / "elsewhere", {"large": 10_000})
    folder = filled(tmp_path / "own", {"one": 1})
    (folder / "link").symlink_to(tmp_path / "elsewhere/large")
    (folder / "links").symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    found = bytes_of(folder)
    assert found is not None
    assert found == 1 + (folder / "link").lstat().st_size


def test_a_file_that_goes_away_meanwhile_has_no_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(tmp_path, {"one": 1, "two": 2})
    looked = os.walk

    def walk(folder: Path) -> object:
        found = list(looked(folder))
        (tmp_path / "one").unlink()
        return found

    monkeypatch.setattr(os, "walk", walk)
    assert bytes_of(tmp_path) == 2


def test_more_files_than_can_be_looked_at_are_not_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored, "MOST_FILES", 3)
    assert bytes_of(filled(tmp_path, {"1": 1, "2": 2, "3": 3})) == 6
    assert bytes_of(filled(tmp_path, {"4": 4})) is None
