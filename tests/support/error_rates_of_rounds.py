"""Print how often words on drift, load, models, stopping and covariates are wrong, by simulation under unkind noise.

    python -m tests.support.error_rates_of_rounds [RUNS]

The noises are those of tests/support/noises.py, which the tests use too.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np
import pandas as pd
from scipy import stats
from tests.support import noises, services

from patternbench.analyze.covariates import at_common_value, moved_by_scenarios
from patternbench.analyze.load import rate_search
from patternbench.analyze.load.loadtest import knee
from patternbench.analyze.load.rate_search import (
    SPREAD,
    Capacity,
    Limits,
    RateObjective,
    RateStep,
    capacity,
    parse_objective,
    search,
)
from patternbench.analyze.models.fit import fit_formulas
from patternbench.analyze.models.words import effects
from patternbench.analyze.noise import trend
from patternbench.analyze.stopping.rule import StoppingRule, decide
from patternbench.terms.arrays import Floats

MACHINES = services.MACHINES
RULE = StoppingRule("p95", 0.05, relative=True, fewest=3, most=30)
CALLS = 500
"""Calls of a round of a search for a rate."""
SEARCHES = (
    *(("one queue (M/M/1)", quantile) for quantile in ("p95", "p99")),
    ("many servers", "p95"),
    *((service, quantile) for service in ("a cliff", "overload piles up") for quantile in ("p95", "p99")),
    ("3 % miss at any rate", "p95"),
)


def cells_of(blocks: int, scenarios: int) -> pd.DataFrame:
    """One row per round: blocks of all scenarios."""
    cells = pd.MultiIndex.from_product([range(blocks), range(scenarios)], names=["block", "scenario"])
    return cells.to_frame(index=False)


def drift_said(blocks: int, runs: int, uneven: float = 0.05, scenarios: int = 24) -> float:
    """Return how often a run whose blocks differ by chance is said to drift."""
    rng, cells = np.random.default_rng(blocks), cells_of(blocks, scenarios)
    drawn = noises.log_normal(rng, (runs, blocks, scenarios), blocks=uneven)
    return float(np.mean([trend(cells.assign(p95=np.exp(logs).ravel()), "p95").p <= 0.05 for logs in drawn]))


def knees_said(levels: int, runs: int, power: int, smooth: bool = False) -> float:
    """Return how often six rounds of a load test without a knee are said to have one; noise grows as load^power."""
    rng, loads, stated = np.random.default_rng(levels), np.linspace(10, 100, levels), 0
    truth = 50 / (1 - loads / 105) if smooth else loads
    spread = 0.03 * truth if smooth else 7 * (loads / 100) ** power
    for _ in range(runs):
        rounds = truth + spread * rng.normal(size=(6, levels)) * np.sqrt(6)
        errors = rounds.std(axis=0, ddof=1) / np.sqrt(6)
        stated += knee(loads, rounds.mean(axis=0), rng, errors).load is not None
    return stated / runs


def patterns_said(blocks: int, runs: int, own: float) -> float:
    """Return how often a model says that a pattern without effect raises or cuts, where blocks act on it unequally."""
    rng, stated = np.random.default_rng(blocks), []
    cells = pd.MultiIndex.from_product([range(blocks), (10, 20, 40, 80), (0, 1, 2)], names=["block", "users", "kind"])
    table = cells.to_frame(index=False)
    strategy = table["kind"].map({0: "baseline", 1: "retry", 2: "breaker"})
    for shift in noises.block_by_configuration(rng, (runs, blocks, 3), own):
        y = 50 + 0.1 * table["users"] + shift[table["block"], table["kind"]] + rng.normal(0, 1, len(table))
        model = fit_formulas(table.assign(y=y, strategy=strategy), ["y ~ users + C(strategy)"]).models[0]
        reported = [effect.sentence for effect in effects(model) if "strategy" in effect.term]
        stated += [" raises " in text or " cuts " in text for text in reported]
    return float(np.mean(stated))


def stops(noise: str, spread: float, runs: int) -> float:
    """Return how often the interval at stopping holds the mean of all rounds."""
    rng, covered = np.random.default_rng(1), 0
    draw = noises.NOISES.get(noise, noises.log_normal)
    # Milliseconds of a clock that ticks once in each, where the noise says so; else of any size.
    clock = 1.0 if noise == "rounded" else 1e-9
    truth = noises.rounded(5.5 * np.exp(draw(rng, (1, 200_000, 1), spread=spread, blocks=0.0)), clock).mean()
    for logs in draw(rng, (runs, RULE.most, 1), spread=spread, blocks=0.0)[:, :, 0]:
        values = noises.rounded(5.5 * np.exp(logs), clock)
        count = next(n for n in range(RULE.fewest, RULE.most + 1) if decide(values[:n], RULE).stop)
        found = decide(values[:count], RULE)
        covered += found.mean is not None and abs(found.mean - truth) <= (found.half_width or 0.0)
    return covered / runs


def capacities(service: str, quantile: str, machine: str, runs: int) -> dict[str, float]:
    """Return how often a search gives an interval, and how often that holds the usual rate, and that of its rounds.

    The usual rate is that of the machine at its usual speed; that of the rounds, of the machine at the middle speed
    that it had while they were repeated. ``held_or_warned``: it holds the usual rate, or a warning stands next to it.
    """
    rng, objective = np.random.default_rng(2), parse_objective(f"{quantile} <= 100ms")
    usual = services.usual(service, objective.allowed)
    found = np.zeros(4)
    for speeds in services.speeds(rng, machine, runs, 80):
        answer, middle = _searched(service, objective, speeds, rng)
        if answer.low is None or answer.high is None:
            continue
        here = usual * middle / services.SPEED
        held = answer.low <= usual <= answer.high
        found += 1, held, answer.low <= here <= answer.high, held or bool(answer.doubt)
    reported = max(found[0], 1.0)
    return dict(
        zip(
            ("told", "usual", "rounds", "held_or_warned"),
            (found / [runs, reported, reported, reported]).tolist(),
            strict=True,
        )
    )


def _searched(
    service: str, objective: RateObjective, speeds: Floats, rng: np.random.Generator
) -> tuple[Capacity, float]:
    """Search at a service, round by round; the answer, and the middle speed of the rounds that it rests on."""
    limits, steps = Limits(start=5), list[RateStep]()
    asking = search(objective, limits)
    rate = next(asking)
    for speed in speeds:
        share = services.SERVICES[service](rate, float(speed))
        steps.append(RateStep(rate, CALLS, int(rng.binomial(CALLS, share))))
        try:
            rate = asking.send(steps[-1])
        except StopIteration:
            break
    repeated = limits.rounds * len(SPREAD)
    rounds = rate_search.evidence(steps, limits)
    return capacity(rounds, objective), float(np.median(speeds[len(steps) - repeated : len(steps)]))


def adjusted(moved: float, runs: int, blocks: int = 30) -> dict[str, float]:
    """Return how often equal scenarios differ once a probe is a covariate that one of them moves, and is found to."""
    rng, cells = np.random.default_rng(blocks), cells_of(blocks, 6)
    speed = noises.drifting(rng, (runs, blocks, 6), spread=0.12, memory=0.4)
    own = noises.log_normal(rng, (runs, blocks, 6), blocks=0.0)
    shift = np.where(np.arange(6) == 1, np.log1p(moved), 0.0)
    differ = found = 0
    for slow, noise in zip(speed, own, strict=True):
        table = cells.assign(kind="all", time=np.exp(slow + noise).ravel(), probe=np.exp(slow + shift).ravel())
        logs = np.log(at_common_value(table, ["time"], "probe", ["kind"])["time"]).to_numpy().reshape(blocks, 6)
        differ += stats.ttest_rel(logs[:, 0], logs[:, 1]).pvalue <= 0.05
        found += moved_by_scenarios(table, "probe") <= 0.05
    return {"differ": differ / runs, "found": found / runs}


def _held(found: dict[str, float]) -> str:
    """The usual rate, in brackets that of these rounds; and how often there is an interval at all."""
    return f"{found['usual']:.0%} ({found['rounds']:.0%}) of {found['told']:.0%}"


def _row(name: str, rates: list[float]) -> str:
    return f"| {name} | " + " | ".join(f"{rate:.0%}" for rate in rates) + " |"


def lines(runs: int) -> Iterator[str]:
    """The tables of docs/analysis.md."""
    yield "| what is said, of blocks that | 2 blocks | 3 blocks | 6 blocks | 10 blocks |\n|---|---|---|---|---|"
    yield _row("*drift*, where blocks differ by chance by 5 %", [drift_said(n, runs) for n in (2, 3, 6, 10)])
    for own in (0.0, 0.5, 1.0):
        name = f"*raises* or *cuts* of a pattern, where blocks act on each by {own:g} of the noise"
        yield _row(name, [patterns_said(n, runs, own) for n in (2, 3, 6, 10)])
    yield "\n| the interval at stopping (5 %, 3 to 30 rounds) holds, at a spread of | 3% | 10% | 20% |"
    yield "|---|---|---|---|"
    for noise in ("skewed", "two speeds", "two speeds, sticky", "5 % tenfold", "drifting in time", "rounded"):
        yield _row(noise, [stops(noise, spread, runs) for spread in (0.03, 0.1, 0.2)])
    yield "\n| a load test tells a knee, of levels that | 6 levels | 10 levels | 20 levels |\n|---|---|---|---|"
    for power, name in enumerate(("a straight line", "the same, noise as the load", "the same, noise as its square")):
        yield _row(name, [knees_said(n, runs, power) for n in (6, 10, 20)])
    yield _row("a smooth curve (M/M/1)", [knees_said(n, runs, 1, smooth=True) for n in (6, 10, 20)])
    yield "\n| `capacity`: of the intervals given, those that hold the usual rate, at | " + " | ".join(MACHINES) + " |"
    yield "|---|" + "---|" * len(MACHINES)
    for service, quantile in SEARCHES:
        found = [capacities(service, quantile, machine, runs) for machine in MACHINES]
        yield "| " + " | ".join([f"{service}, {quantile}", *(_held(one) for one in found)]) + " |"
    yield "\n| a covariate that a scenario moves by | 0 % | 2 % | -4 % | -8 % |\n|---|---|---|---|---|"
    shifts = [adjusted(moved, runs) for moved in (0.0, 0.02, -0.04, -0.08)]
    yield _row("makes equal scenarios differ", [one["differ"] for one in shifts])
    yield _row("is found out by the test of the report", [one["found"] for one in shifts])


if __name__ == "__main__":
    for line in lines(int(sys.argv[1]) if len(sys.argv) > 1 else 400):
        print(line, flush=True)
