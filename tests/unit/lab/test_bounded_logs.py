"""A log that grows beyond its bound keeps its beginning and its end, byte for byte, and says what is missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from patternbench.lab.host import log_bound
from patternbench.lab.host.log_bound import BoundedLog

HEAD, TAIL, STEP = 1000, 3000, 500


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bounds that a test can reach."""
    monkeypatch.setattr(log_bound, "HEAD", HEAD)
    monkeypatch.setattr(log_bound, "TAIL", TAIL)
    monkeypatch.setattr(log_bound, "STEP", STEP)


def written(size: int) -> bytes:
    """Bytes each of which says where it is."""
    return "".join(f"{number:09}\n" for number in range(size // 10 + 1)).encode()[:size]


def grown(log: BoundedLog, size: int) -> None:
    """Append to a log until it has a size, as its writer does."""
    with log.path.open("ab") as file:
        file.write(written(size)[log.path.stat().st_size :])
    log.cut()


@pytest.fixture
def log(tmp_path: Path) -> BoundedLog:
    (tmp_path / "shop.log").touch()
    return BoundedLog(tmp_path / "shop.log")


def test_a_log_is_whole_until_it_is_a_step_longer_than_what_is_kept(log: BoundedLog) -> None:
    grown(log, HEAD + TAIL + STEP - 1)
    assert (log.cut_to, log.path.read_bytes()) == (0, written(HEAD + TAIL + STEP - 1))
    grown(log, HEAD + TAIL + STEP)
    assert log.cut_to == HEAD + STEP


def test_beginning_and_end_stay_where_they_were_and_a_note_stands_between(log: BoundedLog) -> None:
    size = HEAD + TAIL + STEP
    grown(log, size)
    content, before = log.path.read_bytes(), written(size)
    assert len(content) == size
    assert content[:HEAD] == before[:HEAD] and content[HEAD + STEP :] == before[HEAD + STEP :]
    note = content[HEAD : HEAD + STEP].rstrip(b"\0").decode()
    assert note.strip() == (
        "[patternbench: 500 bytes are left out here, as a log keeps its first 1,000 and its last 3,000 bytes]"
    )


def test_a_log_that_goes_on_growing_loses_what_follows_too_and_its_note_says_how_much(log: BoundedLog) -> None:
    grown(log, HEAD + TAIL + STEP)
    grown(log, HEAD + TAIL + 2 * STEP - 1)
    assert log.cut_to == HEAD + STEP
    grown(log, HEAD + TAIL + 2 * STEP)
    assert log.cut_to == HEAD + 2 * STEP
    assert b"[patternbench: 1,000 bytes are left out here" in log.path.read_bytes()


def test_once_no_one_writes_any_more_the_hole_is_closed(log: BoundedLog) -> None:
    size = HEAD + TAIL + STEP + 7
    grown(log, size)
    log.close_up()
    content = log.path.read_bytes()
    note = content[HEAD : content.index(b"]\n") + 2]
    assert content == written(size)[:HEAD] + note + written(size)[HEAD + STEP :]
    assert note.startswith(b"\n[patternbench: 500 bytes") and b"\0" not in content
    assert [one.name for one in log.path.parent.iterdir()] == ["shop.log"]
    log.close_up()
    assert log.path.read_bytes() == content, "there is no hole to close any more"


def test_a_log_that_was_never_cut_or_is_gone_is_left_alone(log: BoundedLog) -> None:
    grown(log, 10)
    log.close_up()
    assert log.path.read_bytes() == written(10)
    log.path.unlink()
    log.cut()
    log.close_up()
    assert not log.path.exists()
