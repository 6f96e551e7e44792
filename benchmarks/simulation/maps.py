"""Maps of the margin of the graphs that are shipped: safe loads by length of a freeze, in simulated time.

    .venv/bin/python -m benchmarks.simulation.maps [GRAPH...] [--out FILE]

``graph-margin.yaml`` is simulated with each graph, whose busiest service freezes. Nothing is measured, so that any
machine gives the same numbers. ``.venv/bin/python -m benchmarks.simulation.maps_tables`` prints the tables of the
committed run.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import pandas as pd
from benchmarks.evidence import Result, store
from benchmarks.simulation.maps_tables import PART, printed

from patternbench.records import damage, stored
from patternbench.records.folder import RunFolder
from patternbench.simulation.graphs import FORMS, graph
from patternbench.simulation.model_file import SimulationModel, calls_of

STUDY = Path(__file__).with_name("graph-margin.yaml")
BUSIEST = "BUSIEST"
"""What the study has in the place of the service that freezes."""
SAFE_LOADS = "margin-2.csv"
"""The report's table of safe loads by length."""


def main() -> None:
    parser = argparse.ArgumentParser(description="Maps of the margin of the graphs that are shipped.")
    parser.add_argument("graphs", nargs="*", default=list(FORMS), metavar="GRAPH", help=", ".join(FORMS))
    parser.add_argument("--out", type=Path, help="where the raw results go [default: the committed file]")
    arguments = parser.parse_args()
    maps = [mapped(name) for name in arguments.graphs]
    print(printed(store(PART, {"study": STUDY.name}, arguments.out, maps=maps)))


def mapped(name: str) -> Result:
    """Search the margins of a graph in simulated time, and return its table of safe loads."""
    frozen = busiest(graph(name))
    with tempfile.TemporaryDirectory() as folder:
        study, run = Path(folder) / STUDY.name, RunFolder(Path(folder) / "run")
        study.write_text(STUDY.read_text(encoding="utf-8").replace(BUSIEST, frozen), encoding="utf-8")
        command = [sys.executable, "-m", "patternbench", "simulate", str(study), "--with", name]
        subprocess.run([*command, "--out", str(run.path), "--json"], check=True, stdout=subprocess.DEVNULL)
        capacity, rounds = stored.manifest(run).capacity["before"].rate, len(damage.rounds(run))
        table = pd.read_csv(run.path / "tables" / SAFE_LOADS).drop(columns="simulated")
    safe = table.to_dict("records")
    return {"graph": name, "frozen": frozen, "capacity": capacity, "rounds": rounds, "safe": safe}


def busiest(model: SimulationModel) -> str:
    """Return the service that a request reaches most often on average, but for the one where it comes in."""
    reached = dict.fromkeys(model.services, 0.0) | {model.entry: 1.0}
    for name, service in model.services.items():  # whoever calls comes before whom it calls
        for _, call in calls_of(service):
            reached[call.to] += reached[name] * call.times * call.share / 100
    return max((name for name in reached if name != model.entry), key=lambda name: reached[name])


if __name__ == "__main__":
    main()
