"""A component that writes without end costs a bounded part of the disk, and its first and last words stay."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import psutil
import pytest

from patternbench.lab.host import log_bound
from patternbench.lab.host.launch import Launch
from patternbench.lab.host.local_host import LocalHost
from patternbench.lab.host.log_bound import BoundedLog
from patternbench.lab.host.ready import LogLine

MB = 1 << 20
BOUND = log_bound.HEAD + log_bound.TAIL + log_bound.STEP
FLOOD = """
import sys, time
print("the first words", flush=True)
line = b"x" * 1023 + b"\\n"
for number in range(500):
    sys.stdout.buffer.write(line * 1024)
    sys.stdout.buffer.flush()
    time.sleep(0.005)
print("the cause of its death", flush=True)
print("up", flush=True)
time.sleep(600 if sys.argv[1] == "stays" else 0.5)
sys.exit(7)
"""


def flood(fate: str) -> Launch:
    command = (sys.executable, "-u", "-c", FLOOD, fate)
    return Launch(kind="process", name="shop", command=command, ready=LogLine("^up$"), ports={})


def on_disk(path: Path) -> int:
    return path.stat().st_blocks * 512


def test_a_service_that_writes_500_mb_and_dies_costs_bounded_disk_and_memory_and_says_why(tmp_path: Path) -> None:
    before = psutil.Process().memory_info().rss
    with LocalHost(tmp_path / "host") as host:
        host.launch([flood("dies")])
        log = host.running["shop"].process.log
        host.running["shop"].process.ended(10)
        time.sleep(4 * log_bound.GLANCE_S)
        assert log.stat().st_size > 500 * MB, "places in the log stay as they are while it is written"
        assert on_disk(log) <= BOUND + 4 * MB
        assert "ended with code 7" in host.dead()[0]
        assert "the cause of its death | up" in host.dead()[0]
        assert host.cut_logs() == ["shop"]
        assert psutil.Process().memory_info().rss - before < 100 * MB
    text = log.read_bytes()
    assert len(text) <= BOUND + 4 * MB
    assert text.startswith(b"the first words\n")
    assert text.endswith(b"the cause of its death\nup\n")
    assert text.count(b"bytes are left out here") >= 1
    assert b"\0" not in text


def test_a_log_within_its_bound_is_left_as_it_is(tmp_path: Path) -> None:
    log = BoundedLog(tmp_path / "svc.log")
    log.path.write_bytes(b"y" * (BOUND - 1))
    log.cut()
    log.close_up()
    assert log.path.read_bytes() == b"y" * (BOUND - 1)


def test_a_log_that_grows_again_after_a_cut_is_cut_again_and_its_note_counts_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = BoundedLog(tmp_path / "svc.log")
    with log.path.open("ab", buffering=0) as written:
        for number in range(3):
            written.write(b"%d" % number * (BOUND // 2 * 2))
            log.cut()
    assert on_disk(log.path) <= BOUND + MB
    log.close_up()
    text = log.path.read_bytes()
    assert text[:5] == b"00000"
    assert text[-5:] == b"22222"
    missing = log.path.stat().st_size
    assert f"{3 * (BOUND // 2 * 2) - missing + len(text[log_bound.HEAD :].split(b']')[0]) + 2:,} bytes".encode() in text
    assert b"\0" not in text


def test_a_log_that_cannot_be_cut_is_left_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_bound, "_punched", lambda *_: False)
    log = BoundedLog(tmp_path / "svc.log")
    log.path.write_bytes(b"y" * (BOUND * 2))
    log.cut()
    log.close_up()
    assert log.path.stat().st_size == BOUND * 2
