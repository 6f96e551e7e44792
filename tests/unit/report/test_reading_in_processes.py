"""Rounds that several processes read are what one would have read, in their order."""

from __future__ import annotations

import subprocess
import sys
import threading
from typing import Any

import pytest
from benchmarks.analysis import rounds as recorded_rounds

from patternbench.records.folder import RunFolder
from patternbench.report import measures as reading

MANY = 50


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    folder = tmp_path_factory.mktemp("many")
    return recorded_rounds.recorded(folder / "run", rounds=MANY, rows=40, kept=folder)


@pytest.fixture
def pools(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The pools of processes that are begun."""
    begun: list[object] = []

    class NotedPool(reading.ProcessPoolExecutor):
        """Notes that it is begun."""

        def __init__(self, *given: Any, **named: Any) -> None:
            begun.append(self)
            super().__init__(*given, **named)

    monkeypatch.setattr(reading, "ProcessPoolExecutor", NotedPool)
    return begun


READ_TWICE = """
import sys
from pathlib import Path
import pandas as pd
from patternbench.records.folder import RunFolder
from patternbench.report import measures as reading

begun = []

class NotedPool(reading.ProcessPoolExecutor):
    def __init__(self, *given, **named):
        begun.append(self)
        super().__init__(*given, **named)

reading.ProcessPoolExecutor = NotedPool
run = RunFolder(Path(sys.argv[1]))
by_several = reading.measures(run)
assert len(begun) == 1
reading.MANY = len(by_several.rounds) + 1
alone = reading.measures(run)
assert len(begun) == 1
for name in ("rounds", "latencies", "steps"):
    pd.testing.assert_frame_equal(getattr(by_several, name), getattr(alone, name))
assert set(alone.latencies["round"]) == set(range(len(alone.rounds)))
print(len(alone.rounds))
"""
"""In a process of its own: that of a test has threads, and is not copied."""


def test_rounds_are_the_same_whoever_reads_them(run: RunFolder) -> None:
    command = [sys.executable, "-c", READ_TWICE, str(run.path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == str(MANY), done.stderr


def test_a_process_with_threads_is_not_copied_for_reading(run: RunFolder, pools: list[object]) -> None:
    """A copy would hold what another thread has locked at that moment, and wait for ever."""
    ended = threading.Event()
    other = threading.Thread(target=ended.wait)
    other.start()
    try:
        assert len(reading.measures(run).rounds) == MANY
    finally:
        ended.set()
        other.join()
    assert not pools
