"""Where the wall time of ``patternbench run`` goes, part by part, and how much of it is measuring.

    .venv/bin/python -m benchmarks.overhead.overhead [STUDY] [--runs 3]

Runs the study (the quickstart unless named) and reads journal and attempts. *Measuring* is the time from the first
attempt of a round to the end of its last; what else belongs to a round (starting the client, decoding, writing and
syncing its records), the warm-up, and what comes before, between and after rounds are parts of their own, and all
parts together are the command's time. Goals: 95 % of the command's time spent measuring, and a median of less than
100 ms from one round to the next. As the peer in the same run, the same machine starts the same system again, which is
what a tool that restarts its system between rounds would pay each time.

``.venv/bin/python -m benchmarks.overhead.tables`` prints the table of the committed run.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow.parquet as pq
from benchmarks.evidence import store
from benchmarks.overhead.tables import PART, printed

ROOT = Path(__file__).resolve().parent.parent.parent
WARM_UP = "warm_up"


def main() -> None:
    parser = argparse.ArgumentParser(description="Where a run's wall time goes.")
    parser.add_argument("study", nargs="?", default="studies/quickstart.yaml")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--out", type=Path, help="where the raw results go [default: the committed file]")
    arguments = parser.parse_args()
    rows = []
    for number in range(arguments.runs):
        with tempfile.TemporaryDirectory() as folder:
            rows.append({"round": number, **measured(arguments.study, Path(folder) / "run")})
    print(printed(store(PART, {"study": arguments.study, "runs": arguments.runs}, arguments.out, rounds=rows)))


def measured(study: str, out: Path) -> dict[str, Any]:
    """Run a study and tell the parts of its time."""
    begun = time.time()
    subprocess.run(patternbench("run", str(ROOT / study), "--out", str(out), "--json"), capture_output=True, check=True)
    ended = time.time()
    entries = [json.loads(line) for line in (out / "journal.jsonl").read_text().splitlines()]
    windows = [window(out / "attempts" / f"{entry['file']}.parquet") for entry in entries if entry["status"] != WARM_UP]
    return {**parts(begun, ended, entries, sum(windows)), "restart_s": restart_seconds()}


def parts(begun: float, ended: float, entries: list[dict[str, Any]], measuring: float) -> dict[str, float]:
    """Split a command's time, from its journal and the time in which attempts were under way; all in seconds."""
    rounds = [entry for entry in entries if entry["status"] != WARM_UP]
    gaps = [after["started"] - before["started"] - before["seconds"] for before, after in pairwise(rounds)]
    warm = sum(entry["seconds"] for entry in entries if entry["status"] == WARM_UP)
    inside = sum(entry["seconds"] for entry in rounds)
    first, last = entries[0]["started"], entries[-1]["started"] + entries[-1]["seconds"]
    return {
        "rounds": len(rounds),
        "command_s": ended - begun,
        "before_s": first - begun,
        "warm_up_s": warm,
        "measuring_s": measuring,
        "in_rounds_s": inside - measuring,
        "between_s": last - first - warm - inside,
        "after_s": ended - last,
        "median_gap_ms": 1000 * median(gaps),
    }


def window(attempts: Path) -> float:
    """Return the seconds from the first attempt of a round to the end of its last."""
    rows = pq.read_table(attempts, columns=["start_us", "end_us"]).to_pandas()
    return float(rows["end_us"].max() - rows["start_us"].min()) / 1e6 if len(rows) else 0.0


def restart_seconds() -> float:
    """How long the same system takes to come up."""
    begun = time.perf_counter()
    process = subprocess.Popen(patternbench("up", "target", "--json"), stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    seconds = time.perf_counter() - begun
    process.terminate()
    process.wait()
    return seconds


def patternbench(*arguments: str) -> list[str]:
    return [str(Path(sys.executable).parent / "patternbench"), *arguments]


if __name__ == "__main__":
    main()
