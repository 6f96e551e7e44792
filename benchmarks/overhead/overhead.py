"""How much of a run's wall time is spent measuring, and how long it takes from one round to the next.

    .venv/bin/python benchmarks/overhead/overhead.py [STUDY] [--json]

Runs the study (the quickstart unless named) once and reads the journal. Goals: 95 % of the wall time of the run spent
in rounds and warm-up on the quickstart; a median of less than 100 ms between rounds on a system that stays up. As the
peer in the same run, the same machine starts the same system anew once, which is what a tool that restarts its system
between rounds would pay each time.
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

ROOT = Path(__file__).resolve().parent.parent.parent
GOAL_SHARE, GOAL_GAP_MS = 0.95, 100.0


def main() -> None:
    parser = argparse.ArgumentParser(description="How much of a run's wall time is spent measuring.")
    parser.add_argument("study", nargs="?", default=str(ROOT / "studies/quickstart.yaml"))
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = measured(arguments.study, Path(folder) / "run")
    print(json.dumps(found, indent=1) if arguments.json else table(found))


def measured(study: str, out: Path) -> dict[str, Any]:
    """Run a study and read its journal."""
    begun = time.perf_counter()
    done = subprocess.run(patternbench("run", study, "--out", str(out), "--json"), capture_output=True, check=True)
    whole = time.perf_counter() - begun
    told = json.loads(done.stdout)
    entries = [json.loads(line) for line in (out / "journal.jsonl").read_text().splitlines()]
    rounds = [entry for entry in entries if entry["status"] != "warm_up"]
    gaps = [after["started"] - before["started"] - before["seconds"] for before, after in pairwise(rounds)]
    spent = sum(entry["seconds"] for entry in entries)
    return {
        "rounds": len(rounds),
        "measuring_s": round(spent, 2),
        "run_s": round(told["wall_seconds"], 2),
        "command_s": round(whole, 2),
        "share_of_run": round(spent / told["wall_seconds"], 4),
        "share_of_command": round(spent / whole, 4),
        "median_gap_ms": round(median(gaps) * 1000, 1),
        "longest_gap_ms": round(max(gaps) * 1000, 1),
        "restart_ms": round(restart_seconds() * 1000, 1),
    }


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


def table(found: dict[str, Any]) -> str:
    met = {True: "met", False: "MISSED"}
    return "\n".join(
        [
            f"{found['rounds']} rounds; {found['measuring_s']} s measuring of {found['run_s']} s run "
            f"({found['command_s']} s with start and report)",
            f"share of the run spent measuring  {found['share_of_run']:.1%}   goal 95 %: "
            f"{met[found['share_of_run'] >= GOAL_SHARE]}",
            f"median between rounds             {found['median_gap_ms']} ms   goal under 100 ms: "
            f"{met[found['median_gap_ms'] < GOAL_GAP_MS]} (longest {found['longest_gap_ms']} ms)",
            f"starting the system anew          {found['restart_ms']} ms, "
            f"{found['restart_ms'] / max(found['median_gap_ms'], 0.1):.0f} times the median between rounds",
        ]
    )


if __name__ == "__main__":
    main()
