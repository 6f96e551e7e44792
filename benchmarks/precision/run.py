"""How small a difference a minute of measuring shows, and what each way of measuring with less noise does to that.

    .venv/bin/python -m benchmarks.precision.run [--minutes 3]

Each way is a short run of twenty configurations that are alike: a baseline, and retries that never have to retry. What
differs between them is noise. Ways that only look at the same rounds otherwise (another response, no pairing, the
neighbours' covariate) are computed from the run of the first way.

``.venv/bin/python -m benchmarks.precision.tables`` prints the table of the committed run.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from benchmarks.common import ENGINE
from benchmarks.evidence import Result, store
from benchmarks.precision.tables import BEFORE, PART, printed

from patternbench.analyze.neighbours import at_one_speed
from patternbench.terms.arrays import Floats

CONFIGURATIONS = 20
CPU = "cpu_per_call"
SYSTEM = """\
patternbench-system: 1
name: pinnable
about: the calibrated target, which can be bound to a CPU
settings:
  cpus: {{default: all, unit: text, about: the CPUs that it may run on}}
components:
  - process:
      name: target
      command: [{engine}, target, --port, "${{self.port.http}}", --workers, "4", --service-time, "exponential:5ms"]
      cpus: "${{cpus}}"
endpoint: target
"""
Scatter = Callable[[Floats], tuple[float, int]]
"""How far a difference of two configurations scatters, from logs by block and configuration, and how surely."""
STUDY = """\
patternbench: 1
name: precision
system: {{name: pinnable, settings: {{{settings}}}}}
rounds: {rounds}
order: {order}
warm_up: {warm_up}
workload:
  closed: {{users: 8, duration: {length}}}
  request: {{path: /bytes/1000}}
strategies:
  - {{client: native, baseline: {{}}}}
  - {{client: native, retry: {{max_attempts: {attempts}, backoff: {{fixed: {{delay: 10ms}}}}}}}}
"""
RESPONSES = {
    "call_success_p95": "95th percentile",
    "call_success_p50": "median",
    "AverageSuccessTime": "mean time",
    "Throughput": "attempts per second",
    CPU: "CPU time of the system per call",
}
"""The responses, the first of which is that of all ways that name no other."""


@dataclass(frozen=True)
class Method:
    """A way of measuring: how its study differs from the first one's."""

    name: str
    length_s: float = 1.0
    order: str = "shuffled"
    warm_up: str = "1s"
    settings: str = ""


WAYS = (
    Method(BEFORE),
    Method("rounds of half a second", length_s=0.5),
    Method("rounds of 2 s", length_s=2.0),
    Method("rounds of 4 s", length_s=4.0),
    Method("without a warm-up", warm_up="0s"),
    Method("warm-up of 3 s", warm_up="3s"),
    Method("pinned to a CPU", settings='cpus: "0"'),
    Method("one run each, in a row, as ResilienceBench does", order="declared"),
)


def main() -> None:
    parser = argparse.ArgumentParser(description="How small a difference a minute of measuring shows.")
    parser.add_argument("--minutes", type=float, default=3.0, help="of each way")
    parser.add_argument("--out", type=Path, help="where the raw results go [default: the committed file]")
    arguments = parser.parse_args()
    rows: list[Result] = []
    for way in WAYS:  # half an hour in all: what was measured is kept if it is cut short
        rows += of_way(way, arguments.minutes)
        result = store(PART, {"minutes": arguments.minutes}, arguments.out, rows=rows)
    print(printed(result))


def of_way(way: Method, minutes: float) -> Iterator[Result]:
    """Measure a way, and yield what it and what is computed from its rounds show."""
    with tempfile.TemporaryDirectory() as folder:
        rounds = measured(way, minutes, Path(folder))
    in_a_row = way.order == "declared"
    first, *others = RESPONSES
    yield shown(rounds, way, way.name, first, alone if in_a_row else paired)
    if way.name == BEFORE:
        for name in others:
            yield shown(rounds, way, f"response: {RESPONSES[name]}", name, paired)
        yield shown(rounds, way, "without pairing by block", first, unpaired)
        moved, _ = at_one_speed(rounds, [first], ["scenario"])
        yield shown(moved, way, "with the neighbours' covariate", first, paired)


def measured(way: Method, minutes: float, folder: Path) -> pd.DataFrame:
    """Run the study of a way; its rounds, with the CPU time of the system per call."""
    study, run = written(way, minutes, folder), folder / "run"
    command = [sys.executable, "-m", "patternbench", "run", str(study), "--out", str(run), "--json"]
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    table = pd.read_parquet(run / "rounds.parquet")
    kept = table[(table["status"] == "done") & table["valid"].astype(bool)].reset_index(drop=True)
    used = kept["system_cpu_s"].replace(0.0, np.nan)  # less than a tick of the kernel's clock
    return kept.assign(**{CPU: used / kept["TotalCalls"]})


def written(way: Method, minutes: float, folder: Path) -> Path:
    """Write the study of a way into a folder, with its system, and return its file."""
    rounds = max(3, round(60 * minutes / CONFIGURATIONS / way.length_s))
    values = {"rounds": rounds, "order": way.order, "warm_up": way.warm_up, "settings": way.settings}
    attempts = list(range(2, CONFIGURATIONS + 1))
    text = STUDY.format(**values, length=f"{round(1000 * way.length_s)}ms", attempts=attempts)
    study, systems = folder / "study.yaml", folder / "systems"
    systems.mkdir()
    (systems / "pinnable.yaml").write_text(SYSTEM.format(engine=ENGINE), encoding="utf-8")
    study.write_text(text, encoding="utf-8")
    return study


def shown(rounds: pd.DataFrame, way: Method, name: str, response: str, scatter: Scatter) -> Result:
    """Return how far the difference of two configurations scatters that were measured for a minute each, in percent."""
    logs = np.log(rounds.pivot(index="block", columns="scenario", values=response).dropna())
    spread, df = scatter(logs.to_numpy())
    blocks_a_minute = 60 / float(rounds["seconds"].median())
    return {
        "way": name,
        "round_s": way.length_s,
        "response": response,
        "variance": spread**2 / blocks_a_minute,
        "df": df,
        "blocks": len(logs),
    }


def paired(logs: Floats) -> tuple[float, int]:
    """Return how far a block's difference of two configurations scatters, and its degrees of freedom."""
    within = logs - logs.mean(axis=0) - logs.mean(axis=1, keepdims=True) + logs.mean()
    df = (logs.shape[0] - 1) * (logs.shape[1] - 1)
    return float(np.sqrt(2 * (within**2).sum() / df)), df


def unpaired(logs: Floats) -> tuple[float, int]:
    """Return the same where both configurations ran in different blocks."""
    within = logs - logs.mean(axis=0)
    df = (logs.shape[0] - 1) * logs.shape[1]
    return float(np.sqrt(2 * (within**2).sum() / df)), df


def alone(logs: Floats) -> tuple[float, int]:
    """Return the same of configurations whose rounds ran in a row: what the machine did then is theirs alone."""
    means = logs.mean(axis=0)
    return float(np.sqrt(2 * logs.shape[0] * means.var(ddof=1))), len(means) - 1


if __name__ == "__main__":
    main()
