"""How near predictions in simulated time are to what is measured: runs studies, calibrates, and holds models against.

    .venv/bin/python -m benchmarks.simulation.accuracy [STUDY...] [--quick] [--runs FOLDER]

Each study (all of ``STUDIES`` unless some are named) is run, a model of its system is calibrated from the rounds
without a fault and a pattern at every other level of load, and held against all others, by ``patternbench calibrate``.
A run that lies in ``--runs`` under its study's name, such as one of ``scripts/evidence``, is taken as it is. The raw
result holds each check as it is, and keeps those of other studies; a run of its own folder is not kept.

``.venv/bin/python -m benchmarks.simulation.accuracy_tables`` prints the tables of the committed run.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from benchmarks.evidence import Result, file_of, store
from benchmarks.simulation.accuracy_tables import OWN, PART, printed

from patternbench.records import stored
from patternbench.records.folder import RunFolder
from patternbench.simulation import model_file
from patternbench.simulation.model_file import ServiceTimes, SimulationModel
from patternbench.study.forms import SUFFIX
from patternbench.study.load import loads

ROOT = Path(__file__).resolve().parents[2]
STUDIES = (
    "studies/predict-target.yaml",
    "studies/predict-insurance.yaml",
    "studies/predict-cinema-gateway.yaml",
    "studies/predict-cinema-messaging.yaml",
    "studies/predict-shop.yaml",
)
US_PER_S = 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description="How near predictions are to what is measured.")
    parser.add_argument("studies", nargs="*", default=STUDIES)
    parser.add_argument("--quick", action="store_true", help="the studies' quick forms")
    parser.add_argument("--runs", type=Path, help="where runs lie that are taken as they are")
    parser.add_argument("--out", type=Path, help="where the raw results go [default: the committed file]")
    arguments = parser.parse_args()
    out, options = arguments.out or file_of(PART), {"quick": "yes" if arguments.quick else "no"}
    for study in arguments.studies:
        check = checked(study, quick=arguments.quick, runs=arguments.runs)
        result = store(PART, options, out, checks=with_check(known(out), {**check, "options": options}))
    print(printed(result))


def known(file: Path) -> list[Result]:
    """Return the checks of a result, each with what it was measured on; none where there is no such file."""
    if not file.exists():
        return []
    result = json.loads(file.read_text(encoding="utf-8"))
    of_all = {name: result[name] for name in OWN if name in result}
    return [{**of_all, **check} for check in result["checks"]]


def with_check(checks: Sequence[Result], made: Result) -> list[Result]:
    """Return checks with one that takes the place of an earlier check of its study, in the order of ``STUDIES``."""
    others = [check for check in checks if check["study"] != made["study"]]
    order = {Path(study).stem: place for place, study in enumerate(STUDIES)}
    return sorted([*others, made], key=lambda check: order.get(check["study"], len(order)))


def checked(study: str, *, quick: bool, runs: Path | None) -> Result:
    """Return how far a model that is calibrated from the run of a study is off."""
    with tempfile.TemporaryDirectory() as scratch:
        run, file = measured(study, Path(scratch), quick=quick, runs=runs), Path(scratch) / "model.yaml"
        told = patternbench("calibrate", str(run), "--out", str(file), "--json")
        capacity = capacity_of(RunFolder(run), model_file.read(file).model)
        parts = {"held_out": json.loads(told)["held_out"], "capacity": capacity, "timeouts": timeouts(RunFolder(run))}
        return {"study": Path(study).stem, **parts, **measured_on(RunFolder(run))}


def measured(study: str, scratch: Path, *, quick: bool, runs: Path | None) -> Path:
    """Return the run of a study: one that is there, or one that is made now."""
    there = runs / (Path(study).stem + (SUFFIX if quick else "")) if runs else None
    if there and RunFolder(there).plan.is_file():
        return there
    run = scratch / "run"
    patternbench("run", str(ROOT / study), "--out", str(run), "--json", *(["--quick"] if quick else []))
    return run


def measured_on(run: RunFolder) -> Result:
    """Return which commit a run measured with, when, and on which machine: not those of the calibration."""
    noted = stored.manifest(run)
    on = noted.machine
    return {
        "code": {"commit": (noted.git_commit or "unknown")[:8], "date": noted.started[:10]},
        "machine": {
            "processor": on["cpu"],
            "cores": on["cores"],
            "kernel": on["kernel"],
            "load_at_start": round(on["load_at_start"], 1),
        },
    }


def capacity_of(run: RunFolder, model: SimulationModel) -> float | None:
    """Return the calls per second that a system takes: as its run has measured, else as its model says."""
    before = stored.manifest(run).capacity.get("before")
    return before.rate if before else served(model)


def timeouts(run: RunFolder) -> list[float]:
    """Return the seconds that callers wait for an answer, by the study of a run."""
    workload = loads(run.study.read_text(encoding="utf-8"), run.study.name).workload
    journeys = [*([workload.journey] if workload.journey else []), *(workload.journeys or [])]
    sent = [workload.request] if workload.request else [step for journey in journeys for step in journey.steps]
    return sorted({wait.seconds for one in sent for wait in one.timeout})


def served(model: SimulationModel) -> float:
    """Return how many calls per second the service of a model gets done where they come in, all workers busy."""
    entry = model.services[model.entry]
    slowest = entry.slowdown[-1].factor if entry.slowdown else 1.0
    return float(f"{int(entry.workers) / (mean_s(entry.times) * slowest):.4g}")


def mean_s(times: ServiceTimes) -> float:
    """Return the mean of times that are quantiles, in seconds."""
    ends = [(point.share, point.time.us / US_PER_S) for point in times.quantiles or []]
    return sum((after - before) * (low + high) / 2 for (before, low), (after, high) in pairwise(ends))


def patternbench(*arguments: str) -> str:
    """Run a command, and return what it prints; a failed round does not end the benchmark."""
    command = [str(Path(sys.executable).parent / "patternbench"), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode > 1:
        sys.exit(f"patternbench {arguments[0]} has failed: {done.stderr[-2000:]}")
    return done.stdout


if __name__ == "__main__":
    main()
