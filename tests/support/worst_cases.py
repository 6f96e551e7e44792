"""How often a word is wrong under the worst noise of ``noises``: the page's table, by simulation.

    python -m tests.support.worst_cases

Each rate is that of the number of rounds and the noise under which it is the highest. A test holds the table to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache

import numpy as np
from tests.support import noises

from patternbench.analyze.statements.estimate import Estimate, over_blocks, paired, typical_paired
from patternbench.terms.arrays import Floats

ALPHA, RUNS = 0.05, 4000
PART = "worst cases"
"""The name of the table's part of docs/analysis.md."""
Wrong = Callable[[Floats], Floats]
"""Which simulated runs (runs, rounds, configurations) of equal configurations contain a wrong word."""


def two(found: Callable[[Estimate], Floats], estimate: Callable[[Floats, Floats], Estimate] = paired) -> Wrong:
    """Whether two equal configurations are distinguished."""
    return lambda logs: found(estimate(logs[..., 0], logs[..., 1])) <= ALPHA


def tied_pair(logs: Floats) -> Floats:
    """Whether one of a tied pair is clearly the choice, the others being far off: it must surely beat each."""
    logs = logs + np.where(np.arange(logs.shape[2]) < 2, 0.0, 1.0)
    first = logs.mean(axis=1).argmin(axis=1)
    best = np.take_along_axis(logs, first[:, None, None], axis=2)
    p_values = np.stack([paired(best[..., 0], logs[..., i]).firm_p for i in range(logs.shape[2])])
    p_values[first, np.arange(len(first))] = 0.0
    surely: Floats = p_values.max(axis=0) <= ALPHA
    return surely


def gain_of_any(logs: Floats) -> Floats:
    """Whether any of nine others shows a gain over an equal baseline (Holm: the least p, ten times, as firmly)."""
    estimates = [paired(logs[..., 0], logs[..., i]) for i in range(1, logs.shape[2])]
    p_values = np.stack([np.where(np.asarray(e.value) < 0, e.firm_p, 1.0) for e in estimates])
    shown: Floats = p_values.min(axis=0) * (len(estimates) + 1) <= ALPHA
    return shown


def mean_over_conditions(logs: Floats) -> Floats:
    """Whether a mean over three conditions differs, firmly; the conditions are three pairs of configurations."""
    gaps = np.moveaxis(logs[..., 1::2] - logs[..., ::2], 2, 1)
    return np.array([over_blocks(one).firm_p <= ALPHA for one in gaps[:1000]])


ROWS: dict[str, tuple[Wrong, int, tuple[int, ...]]] = {
    "*clearly*, *higher*, *lower*, of two equal configurations, without a condition": (
        two(lambda e: np.asarray(e.firm_p)),
        2,
        (3, 4, 6, 10, 30),
    ),
    "the same, *if rounds scatter evenly to both sides*": (two(lambda e: np.asarray(e.p)), 2, (3, 4, 6, 10, 30)),
    "*clearly*, of a tied pair before others that are far off, without a condition": (tied_pair, 4, (3, 6, 10)),
    "a gain over an equal baseline, any of nine, without a condition": (gain_of_any, 10, (3, 6, 10)),
    "*better*, *worse*: a mean over three conditions, without a condition": (mean_over_conditions, 6, (3, 6, 10)),
    "typical rounds (`--typical`) of two equal configurations": (
        two(lambda e: np.asarray(e.p), typical_paired),
        2,
        (8, 10, 30),
    ),
}
"""What is said, and is wrong: how it is found in simulated runs, of how many configurations and numbers of rounds."""
NOT_EQUAL = {"typical rounds (`--typical`) of two equal configurations": ("half of them skewed", "one of them stalls")}
"""Noises whose means of logs are equal, and whose typical rounds aren't: there a word is no mistake."""


@lru_cache
def rate(row: str, noise: str, rounds: int) -> float:
    """How often a row's word is wrong under a noise."""
    wrong, configurations, _ = ROWS[row]
    drawn = noises.NOISES[noise](np.random.default_rng(rounds), (RUNS, rounds, configurations))
    return float(np.mean(wrong(drawn)))


def worst(row: str) -> tuple[float, str, int]:
    """The highest rate of a row, with its noise and number of rounds."""
    there = [noise for noise in noises.NOISES if noise not in NOT_EQUAL.get(row, ())]
    return max((rate(row, noise, rounds), noise, rounds) for noise in there for rounds in ROWS[row][2])


def lines() -> Iterator[str]:
    """The table of docs/analysis.md."""
    yield "| what is said, and is wrong | promised | worst of those simulated | there |"
    yield "|---|---|---|---|"
    for row in ROWS:
        share, noise, rounds = worst(row)
        yield f"| {row} | 5 % | {100 * share:.1f} % | {noise}, {rounds} rounds |"


if __name__ == "__main__":
    print("\n".join(lines()))
