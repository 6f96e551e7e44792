"""How often a history shows a change that is not there, and one that is, next to Apache Otava on the same series.

    .venv/bin/python -m benchmarks.history.run [--histories 200] [--otava PYTHON]

Series of 20 to 100 runs are looked at after every run, as a pipeline does. Some never change, others step up by some
spreads at a run. ``ever`` is the share of unchanged histories that show a change at any look, ``last`` at the look
after the last run, ``found`` the share of changed ones in which the last look has a change within three runs of the
true one, ``delay`` the median number of runs after the step until a look first has it.

Otava isn't a dependency: ``--otava`` names the Python of an environment that has it (``pip install apache-otava``). Its
settings are those of its documentation (window of 50, p of at most 0.001), and no least magnitude.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from patternbench.analyze.statements.change_points import changes
from patternbench.terms.arrays import Floats

RUNS, FIRST, STEP_AT, NEAR = 100, 20, 60, 3
Noise = Callable[[np.random.Generator, int], Floats]
Looked = list[list[int]]
"""The changes that each look at a series shows, after each run from the first look on."""


def far_off(rng: np.random.Generator, runs: int) -> Floats:
    """One run in ten is far off to one side."""
    return rng.standard_normal(runs) + 8.0 * (rng.random(runs) < 0.1)


NOISES: dict[str, Noise] = {
    "normal": lambda rng, runs: rng.standard_normal(runs),
    "heavy tails (t, 3)": lambda rng, runs: rng.standard_t(3, runs) / np.sqrt(3),
    "one side (exponential)": lambda rng, runs: rng.exponential(1.0, runs),
    "one in ten far off": far_off,
}
STEPS = (0.0, 1.0, 2.0, 3.0)


@dataclass(frozen=True)
class Rates:
    """How often looks showed something: ever, at the last look, near the step, and how many runs after it."""

    ever: float
    last: float
    found: float
    delay: float


def drawn(noise: Noise, step: float, histories: int, seed: int) -> list[Floats]:
    """Draw series around 100, of which each run's noise has about one percent of spread."""
    rng = np.random.default_rng(seed)
    made = [noise(rng, RUNS) for _ in range(histories)]
    return [100.0 + one + step * (np.arange(RUNS) >= STEP_AT) for one in made]


def ours(series: Sequence[Floats]) -> list[Looked]:
    """Look at series as ``patternbench history`` does."""
    return [[changes(one[:runs]) for runs in range(FIRST, RUNS + 1)] for one in series]


OTAVA = """
import json, sys
from otava.analysis import compute_change_points
def changes(values):
    points, _ = compute_change_points(values, window_len=50, max_pvalue=0.001, min_magnitude=0.0)
    return [int(point.index) for point in points]
first, runs, series = json.load(sys.stdin)
json.dump([[changes(one[:count]) for count in range(first, runs + 1)] for one in series], sys.stdout)
"""


def otava(python: Path, series: Sequence[Floats]) -> list[Looked]:
    """Look at series as Otava does, in its own environment."""
    given = json.dumps([FIRST, RUNS, [one.tolist() for one in series]])
    done = subprocess.run([str(python), "-c", OTAVA], input=given, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    found: list[Looked] = json.loads(done.stdout)
    return found


def rates(looked: Sequence[Looked]) -> Rates:
    """Return how often such looks showed something."""
    near = [[any(abs(at - STEP_AT) <= NEAR for at in look) for look in one] for one in looked]
    delays = [FIRST + one.index(True) - STEP_AT for one in near if True in one[STEP_AT - FIRST :]]
    return Rates(
        float(np.mean([any(map(bool, one)) for one in looked])),
        float(np.mean([bool(one[-1]) for one in looked])),
        float(np.mean([one[-1] for one in near])),
        float(np.median(delays)) if delays else float("nan"),
    )


def row(noise: str, step: float, who: str, found: Rates) -> str:
    if not step:
        return f"| {noise} | none | {who} | {found.ever:.1%} | {found.last:.1%} | | |"
    return f"| {noise} | {step:g} | {who} | | | {found.found:.0%} | {found.delay:.0f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--histories", type=int, default=200)
    parser.add_argument("--otava", type=Path, help="the Python of an environment with apache-otava")
    options = parser.parse_args()
    print("| noise | step (spreads) | who | ever | last | found | delay (runs) |\n|---|---|---|---|---|---|---|")
    for place, (name, noise) in enumerate(NOISES.items()):
        for step in STEPS:
            series = drawn(noise, step, options.histories, 100 * place + int(10 * step))
            print(row(name, step, "history", rates(ours(series))), flush=True)
            if options.otava:
                print(row(name, step, "Otava", rates(otava(options.otava, series))), flush=True)


if __name__ == "__main__":
    main()
