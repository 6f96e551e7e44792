"""What a run of 1, 10 and 100 million attempts takes to read, in rounds of a million: memory must not grow.

    .venv/bin/python -m benchmarks.analysis.rounds [--repeat N] [--rounds 1 10 100] [--rows ROWS] [--out FILE]

The records of all rounds are a few files of several names each (hard links), so that 100 million attempts take the disk
of a few million. Every command runs in a process of its own.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.analysis.sizes import write_round
from benchmarks.analysis.tables import ESTIMATES, OF_ROUNDS, REPORT, rounds_printed
from benchmarks.common import run as ran
from benchmarks.evidence import Result, store

from patternbench.plan.expand import expand
from patternbench.plan.order import Round
from patternbench.records import folder
from patternbench.records.folder import RunFolder
from patternbench.records.journal import DONE, Entry, Journal
from patternbench.study.load import loads

DISTINCT = 4
STUDY = """\
patternbench: 1
name: many-attempts
system: target
workload: {closed: {users: [100, 200], duration: 100s}}
strategies: [{client: native, baseline: {}}]
"""
FEWEST = 4
"""Rounds that a model of two factors needs."""
COMMANDS = {
    REPORT: ["report"],
    ESTIMATES: ["fit", "--formula", "p95 ~ users + round", "--estimates"],
}


def recorded(path: Path, rounds: int, rows: int, kept: Path) -> RunFolder:
    """Write a run of many rounds; ``kept`` is a folder for the files that its records are links to."""
    plan, run = expand(loads(STUDY, "study.yaml")), RunFolder(path)
    places = [Round(number, number // 2, plan.scenarios[number % 2].id) for number in range(rounds)]
    run.create()
    folder.write_json(run.plan, {**plan.as_json(), "rounds": [place.as_json() for place in places]})
    folder.write_json(run.manifest, {"manifest": 1, "study": "x", "study_file": "study.yaml", "left_out": {}})
    run.study.write_text(STUDY)
    journal = Journal(run.journal)
    for place in places:
        source = _file(kept, place.index % DISTINCT, rows)
        name = f"{place.index:05d}"
        os.link(source, run.attempts_of(name))
        started, sha256 = 1.7e9 + 101.0 * place.index, folder.digest(source)
        journal.append(Entry(place.index, place.block, place.scenario, DONE, name, started, 100.0, rows, sha256=sha256))
    run.unlock()
    return run


def _file(kept: Path, number: int, rows: int) -> Path:
    """Return one of the files, which is written when it is first asked for."""
    path = kept / f"{number}.parquet"
    if not path.exists():
        write_round(path, rows, seed=number)
    return path


def measured(repeat: int, sizes: list[int], rows: int, temporary: Path) -> Iterator[Result]:
    """Yield what each command takes on each run, one repetition after another."""
    runs = {size: recorded(temporary / f"run-{size}", size, rows, temporary) for size in sizes}
    for number in range(repeat):
        for size, run in runs.items():
            for name, (verb, *options) in COMMANDS.items():
                if name == ESTIMATES and size < FEWEST:
                    continue
                done = ran([sys.executable, "-m", "patternbench", verb, str(run.path), *options], temporary)
                peak = {"cpu_s": done.cpu, "wall_s": done.elapsed, "memory_mib": done.peak_kib / 1024}
                row = {"command": name, "of_run": size, "round": number, **peak}
                print(row, file=sys.stderr)
                yield row


def main() -> None:
    """Measure, print the table, and keep the raw results."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--rounds", type=int, nargs="+", default=[1, 10, 100])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--out", type=Path, help="where the raw results go [default: the committed file]")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        rows = list(measured(chosen.repeat, chosen.rounds, chosen.rows, Path(temporary)))
    options = {"repetitions": chosen.repeat, "attempts per round": chosen.rows}
    print(rounds_printed(store(OF_ROUNDS, options, chosen.out, rounds=rows)))


if __name__ == "__main__":
    main()
