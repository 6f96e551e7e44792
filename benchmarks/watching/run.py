"""Whether a viewer changes what a run measures: one scenario against itself, with and without somebody who watches.

    .venv/bin/python -m benchmarks.watching.run [--pairs 90] [--seconds 2] [--users 8]

One study of one scenario runs, and a viewer is connected to ``patternbench watch`` all the time. Of each two rounds
that follow each other the page is stopped (SIGSTOP) in one; a coin with a seed says in which.

``.venv/bin/python -m benchmarks.watching.tables`` prints the table of the committed run.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from urllib.parse import urlsplit

import pandas as pd
from benchmarks.evidence import Result, store
from benchmarks.watching.tables import PART, RESPONSES, printed

from patternbench.records.folder import RunFolder
from patternbench.records.journal import WARM_UP
from patternbench.report.build import finished_rounds
from patternbench.watch.watched import is_a_run, name_of

STUDY = """\
patternbench: 1
name: watching
system: target
rounds: {rounds}
warm_up: 500ms
workload: {{closed: {{users: {users}, duration: {seconds}s}}, request: {{path: /bytes/1000}}}}
strategies: [{{client: native, baseline: {{}}}}]
"""
SEED = 7
COMMAND = [sys.executable, "-m", "patternbench"]
ENDS_S, BEGINS_S, LOOK_S = 10, 60, 0.02


def main() -> None:
    parser = argparse.ArgumentParser(description="Whether a viewer changes what a run measures.")
    parser.add_argument("--pairs", type=int, default=90, help="of rounds")
    parser.add_argument("--seconds", type=int, default=2, help="of a round")
    parser.add_argument("--users", type=int, default=8)
    parser.add_argument("--out", type=Path, help="where the raw results go [default: the committed file]")
    arguments = parser.parse_args()
    watched = drawn(arguments.pairs)
    with tempfile.TemporaryDirectory() as folder:
        run, first = measured(Path(folder), arguments, frozenset(watched))
        rounds = finished_rounds(run).rows
        rounds = rounds[rounds["round"] >= first]
    options = {"pairs": arguments.pairs, "seconds": arguments.seconds, "users": arguments.users}
    print(printed(store(PART, options, arguments.out, rows=list(paired(rounds, watched)))))


def drawn(pairs: int) -> list[int]:
    """Return which round of each pair is watched."""
    coin = random.Random(SEED)
    return [2 * pair + coin.randrange(2) for pair in range(pairs)]


def paired(rounds: pd.DataFrame, watched: Sequence[int]) -> Iterator[Result]:
    """Yield for each pair and response what was measured with a viewer and without; pairs with both rounds alone."""
    values = rounds.set_index("round")
    for pair, one in enumerate(watched):
        if one in values.index and one ^ 1 in values.index:
            for name in RESPONSES:
                with_viewer, without = (float(values.at[number, name]) for number in (one, one ^ 1))
                yield {"round": pair, "response": name, "watched": with_viewer, "alone": without}


def measured(folder: Path, arguments: argparse.Namespace, watched: frozenset[int]) -> tuple[RunFolder, int]:
    """Run the study with a viewer who sees only some of its rounds; the run, and the first round with the viewer."""
    text = STUDY.format(rounds=2 * arguments.pairs, users=arguments.users, seconds=arguments.seconds)
    (folder / "study.yaml").write_text(text, encoding="utf-8")
    run = RunFolder(folder / "run")
    command = [*COMMAND, "run", str(folder / "study.yaml"), "--out", str(run.path), "--json"]
    with ended(command, subprocess.DEVNULL) as running:
        while not is_a_run(run.path) and running.poll() is None:
            time.sleep(LOOK_S)
        with ended([*COMMAND, "watch", str(run.path), "--port", "0"], subprocess.PIPE) as page:
            viewed(address(page), name_of(run.path))
            first = rounds_in(run.journal) + 1
            follow(running, run.journal, watched, page)
        if running.returncode:
            sys.exit(f"the run has failed with {running.returncode}")
    return run, first


@contextmanager
def ended(command: Sequence[str], output: int) -> Iterator[subprocess.Popen[str]]:
    """Start a command, and end it on leaving, also where it was stopped or does not heed the request."""
    process = subprocess.Popen(command, stdout=output, text=True)
    try:
        yield process
    finally:
        process.send_signal(signal.SIGCONT)
        process.terminate()
        try:
            process.communicate(timeout=ENDS_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()


def address(page: subprocess.Popen[str]) -> str:
    """Return where a page that begins answers, which it says in its first line."""
    killer = threading.Timer(BEGINS_S, page.kill)
    killer.start()
    assert page.stdout is not None
    line = page.stdout.readline()
    killer.cancel()
    if not line:
        sys.exit(f"`patternbench watch` said no address within {BEGINS_S} s")
    return line.strip()


def viewed(url: str, name: str) -> None:
    """Read what the page says, as a browser does, for as long as it says something."""
    place = urlsplit(url)

    def read() -> None:
        with suppress(OSError, HTTPException):  # it ends with the page
            viewer = HTTPConnection(str(place.hostname), place.port, timeout=600)
            viewer.request("GET", f"/events?run={name}")
            answer = viewer.getresponse()
            while answer.readline():
                pass

    threading.Thread(target=read, daemon=True).start()


def follow(running: subprocess.Popen[str], journal: Path, watched: frozenset[int], page: subprocess.Popen[str]) -> None:
    """Stop the page in the rounds that are not to be watched, and let it go on in the others."""
    goes_on, size, coming = True, 0, 0
    while running.poll() is None:
        grown = journal.stat().st_size if journal.exists() else 0
        if grown != size:
            size, coming = grown, rounds_in(journal)
        if (coming in watched) is not goes_on:
            goes_on = coming in watched
            page.send_signal(signal.SIGCONT if goes_on else signal.SIGSTOP)
        time.sleep(LOOK_S)


def rounds_in(journal: Path) -> int:
    """Return how many rounds have ended, of which each has a line; warm-ups have lines of their own."""
    lines = journal.read_bytes().splitlines(keepends=True) if journal.exists() else []
    entries = [json.loads(line) for line in lines if line.endswith(b"\n")]
    return sum(entry["round"] >= 0 and entry["status"] != WARM_UP for entry in entries)


if __name__ == "__main__":
    main()
