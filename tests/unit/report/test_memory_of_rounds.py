"""A run is read one round after another: memory holds a round's blocks, however many rounds the run has."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner
from tests.support.memory import most_traced
from tests.support.recorded_run import pinned

from patternbench.cli.fit import fit
from patternbench.plan.expand import expand
from patternbench.plan.order import Round
from patternbench.records import attempts, folder
from patternbench.records.batches import Batch
from patternbench.records.folder import RunFolder
from patternbench.records.journal import DONE, Entry, Journal
from patternbench.report.build import gather
from patternbench.study.load import loads

ROWS, BLOCK = 24_000, 4_096
FEW, MANY = 4, 16
COLUMN = ROWS * 8
"""The bytes of one column of one round."""
DISTINCT = 3
STUDY = """\
patternbench: 1
name: x
system: target
workload: {closed: {users: [10, 20], duration: 1s}}
strategies: [{client: native, baseline: {}}]
"""


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempts, "BLOCK", BLOCK)


def recorded(path: Path, rounds: int, hashed: bool = True) -> RunFolder:
    """A run of many rounds, whose records are a few files of several names each."""
    plan = expand(loads(STUDY, "study.yaml"))
    scenarios = [scenario.as_json() for scenario in plan.scenarios]
    places = [Round(number, number // 2, plan.scenarios[number % 2].id) for number in range(rounds)]
    run = pinned(RunFolder(path), scenarios, places, plan.as_json()["factors"])
    journal = Journal(run.journal)
    for place in places:
        file, first = (run.attempts_of(f"{number:05d}") for number in (place.index, place.index % DISTINCT))
        if place.index < DISTINCT:
            attempts.write(file, attempts.from_batches([one_round(place.index)], warm_up=False))
        else:
            os.link(first, file)
        sha256 = folder.digest(file) if hashed else None
        started = 1e9 + place.index
        entry = Entry(place.index, place.block, place.scenario, DONE, file.stem, started, 1.0, ROWS, sha256=sha256)
        journal.append(entry)
    return run


def one_round(seed: int) -> Batch:
    rng = np.random.default_rng(seed)
    at = np.arange(ROWS)
    ones, took = np.ones(ROWS, dtype=np.int64), rng.integers(100, 9_000 + 100 * seed, ROWS)
    return Batch(at % 20, at // 20, ones, at * 50, took, np.zeros(ROWS, np.int8), 200 * ones)


@pytest.fixture
def pool() -> Iterator[pa.MemoryPool]:
    """Arrow's memory, counted from now on."""
    before = pa.default_memory_pool()
    counted = pa.proxy_memory_pool(before)
    pa.set_memory_pool(counted)
    yield counted
    pa.set_memory_pool(before)


@pytest.mark.parametrize("hashed", [True, False], ids=["records with a hash", "records of before, without one"])
def test_memory_does_not_grow_with_the_number_of_rounds(tmp_path: Path, pool: pa.MemoryPool, hashed: bool) -> None:
    gather(recorded(tmp_path / "first", FEW, hashed))  # what is imported, and made once
    peaks, of_arrow = {}, {}
    for rounds in (FEW, MANY):
        run = recorded(tmp_path / str(rounds), rounds, hashed)
        peaks[rounds] = most_traced(partial(gather, run))
        of_arrow[rounds] = int(pool.max_memory())
    assert peaks[MANY] < peaks[FEW] + 2 * COLUMN
    assert of_arrow[MANY] < of_arrow[FEW] + COLUMN


def test_estimates_of_a_run_hold_one_round_at_a_time(tmp_path: Path) -> None:
    peaks = {}
    for name, rounds in (("first", FEW), ("few", FEW), ("many", MANY)):
        run = recorded(tmp_path / name, rounds)
        peaks[name] = most_traced(partial(estimated, run.path))
    assert peaks["many"] < peaks["few"] + 2 * COLUMN


def estimated(path: Path) -> None:
    done = CliRunner().invoke(fit, [str(path), "--formula", "p95 ~ users + round", "--estimates"])
    assert done.exit_code == 0, done.output
    assert "Coefficients (least squares)" in done.output
