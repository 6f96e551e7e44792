"""What is made once is kept, and a cache can only cost time."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from patternbench import caches

TEXT = "first line\r\nsecond line, with é\n"


class Maker:
    """Makes the text, and counts how often it was asked to."""

    def __init__(self) -> None:
        self.requested = 0

    def __call__(self) -> str:
        self.requested += 1
        return TEXT


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "patternbench"


def test_a_text_is_made_once_and_read_as_it_was_made() -> None:
    make = Maker()
    assert [caches.kept_text("a.js", make) for _ in range(3)] == [TEXT] * 3
    assert make.requested == 1


@pytest.mark.parametrize("damage", [b"", b"x", b"first line\r\n", b"\xff\xfe\n\xff", TEXT.encode() + b"\n000000000000"])
def test_a_damaged_copy_is_made_again(own_cache: Path, damage: bytes) -> None:
    make = Maker()
    caches.kept_text("a.js", make)
    (own_cache / "a.js").write_bytes(damage)
    assert caches.kept_text("a.js", make) == TEXT
    assert make.requested == 2
    assert caches.kept_text("a.js", make) == TEXT
    assert make.requested == 2


def test_a_cache_that_cannot_be_written_costs_time_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert caches.kept_text("a.js", Maker()) == TEXT


def test_a_user_without_a_home_has_no_cache_and_gets_his_text(monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", homeless)
    assert caches.kept_text("a.js", Maker()) == TEXT


def test_nothing_half_written_is_left_in_the_cache(own_cache: Path) -> None:
    caches.kept_text("a.js", Maker())
    assert [path.name for path in own_cache.iterdir()] == ["a.js"]


@pytest.mark.parametrize("step", ["write_bytes", "replace"])
def test_a_full_disk_leaves_no_draft_in_the_cache(own_cache: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "no space left on device")

    monkeypatch.setattr(Path, step, full)
    assert caches.kept_text("a.js", Maker()) == TEXT
    assert list(own_cache.iterdir()) == []
