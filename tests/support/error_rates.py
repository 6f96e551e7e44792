"""Print how often each word of the analysis is wrong, by simulation.

    python -m tests.support.error_rates [RUNS]

Rounds are log-normal with a spread of 5 %, in blocks that act on all configurations alike (spread 10 %). The tests
hold the same functions to their bounds with fewer runs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd

from patternbench.analyze.compare.comparison import ComparisonOptions, difference, judged
from patternbench.analyze.load.loadtest import knee, linearity
from patternbench.analyze.models.fit import fit_formulas
from patternbench.analyze.models.words import effects
from patternbench.analyze.noise import scenario_floor
from patternbench.analyze.recommend.objectives import Objective
from patternbench.analyze.recommend.ranking import rank
from patternbench.analyze.rounds import ScenarioRounds
from patternbench.analyze.statements.pairing import matched_by_block
from patternbench.analyze.statements.verdict import Verdict
from patternbench.analyze.stopping.rule import StoppingRule, decide
from patternbench.analyze.stopping.warnings import warnings
from patternbench.plan.factors import FactorField, factor_of
from patternbench.ratelimit.analyze.cost import clear, mean_interval
from patternbench.records.stored import PlannedScenario
from patternbench.report.layout import layout
from patternbench.report.model import RunReport
from patternbench.report.sections.findings import findings, headlines
from patternbench.study.model.meaning import Meaning
from patternbench.terms.arrays import Floats
from patternbench.terms.responses import HEADLINES
from patternbench.terms.roles import Role, Unit

Draw = Callable[[np.random.Generator], Floats]

ROUNDS = (3, 6, 10, 30)
SPREAD, BLOCKS, ALPHA = 0.05, 0.10, 0.05
RULE = StoppingRule("p95", 0.05, relative=True, fewest=3, most=30)


def configurations(rng: np.random.Generator, count: int, rounds: int, gain: float = 0.0) -> list[ScenarioRounds]:
    """Make up the rounds of some configurations, all alike but the last, which is better by ``gain``."""
    block, places = rng.normal(0, BLOCKS, rounds), {"p95": np.arange(rounds, dtype=float)}
    gains = [0.0] * (count - 1) + [gain]
    values = [np.exp(block - each + rng.normal(0, SPREAD, rounds)) for each in gains]
    return [ScenarioRounds(f"c{i}", {"c": i}, {"p95": one}, places) for i, one in enumerate(values)]


def choices(count: int, rounds: int, runs: int, gain: float = 0.0) -> dict[str, float]:
    """Return how often a choice among ``count`` is called clear, clear and wrong, and taken over an equal baseline."""
    rng, found = np.random.default_rng(rounds * 100 + count), np.zeros(3)
    for _ in range(runs):
        ranking = rank(configurations(rng, count, rounds, gain), Objective("p95", minimise=True), ())
        clear = ranking.p.even <= ALPHA
        wrong = clear and (gain == 0 or ranking.order[0] != count - 1)
        found += clear, wrong, min(ranking.gains(0).values()).even <= ALPHA
    return dict(zip(("clear", "wrong", "over_baseline"), found / runs, strict=True))


def tables(rounds: int, runs: int, real: int = 0) -> dict[str, float]:
    """Return how often a table of ten equal pairs has a verdict, or with ``real`` others its share of wrong ones."""
    rng, any_wrong, wrong_share = np.random.default_rng(rounds), 0, 0.0
    for _ in range(runs):
        gains = [0.0] * 10 + [0.3] * real
        pairs = [matched_by_block(*configurations(rng, 2, rounds, gain), ["p95"])[0] for gain in gains]
        differences = judged([difference(a, b, "p95", ComparisonOptions()) for a, b in pairs], 0.95)
        reported = [d.verdict is not Verdict.INCONCLUSIVE for d in differences]
        any_wrong += any(reported[:10])
        wrong_share += sum(reported[:10]) / max(1, sum(reported))
    return {"any": any_wrong / runs, "share": wrong_share / runs}


def contrasts(rounds: int, runs: int, count: int = 10) -> float:
    """Return how often a table of ten contrasts between equal rate limiters calls any of them clear."""
    rng = np.random.default_rng(rounds)
    tables = ([mean_interval(pairs) for pairs in rng.normal(0, SPREAD, (count, rounds))] for _ in range(runs))
    return sum(any(clear(table)) for table in tables) / runs


def floors(rounds: int, runs: int, spreads: tuple[float, ...]) -> float:
    """Return how often two sets of rounds of one scenario differ by more than its noise floor: the worst scenario."""
    rng = np.random.default_rng(rounds)
    beyond = np.zeros(len(spreads))
    for _ in range(runs):
        for place, spread in enumerate(spreads):
            one, other = rng.lognormal(0, spread, (2, rounds))
            gap = abs(np.log(one).mean() - np.log(other).mean())
            beyond[place] += gap > np.log1p(scenario_floor(one, in_percent=True) / 100)
    return float(beyond.max() / runs)


def findings_said(rounds: int, runs: int, lines: int = 5, levels: int = 1) -> float:
    """Return how often the findings on equal lines at some loads say that any is better or worse than the baseline."""
    rng, stated = np.random.default_rng(rounds * 10 + levels), 0
    names = ["baseline", *(f"line {place}" for place in range(1, lines))]
    loads = [10 * (place + 1) for place in range(levels)]
    factors = {
        "strategy": factor_of(
            "strategy", names, FactorField(("strategy",), Meaning(Role.PATTERN, Unit.TEXT), "baseline")
        ),
        "users": factor_of("users", loads, FactorField(("users",), Meaning(Role.LOAD, Unit.COUNT), None)),
    }
    cells = [
        PlannedScenario(id=f"{name} {load}", levels={"strategy": name, "users": load})
        for load in loads
        for name in names
    ]
    table = pd.DataFrame([{"scenario": cell.id, "block": b, "round": b} for b in range(rounds) for cell in cells])
    table = table.assign(status="done", failure_rate=0.0, rejected_rate=0.0)
    for _ in range(runs):
        block = np.repeat(rng.normal(0, BLOCKS, (rounds, 4)), len(cells), axis=0)
        values = np.exp(block + rng.normal(0, SPREAD, (len(table), 4)))
        measured = table.assign(**dict(zip(HEADLINES, values.T, strict=True)))
        report = RunReport("x", "", {}, factors, cells, measured)
        arrangement = layout(report)
        first, *_ = headlines(findings(report), arrangement)
        stated += not first.lead.startswith("No configuration is clearly better")
    return stated / runs


def effects_said(noise: str, runs: int, rounds: int = 6) -> float:
    """Return how often a model says that a factor which does nothing raises or cuts the response."""
    rng, stated = np.random.default_rng(rounds), 0
    cells = pd.MultiIndex.from_product([range(rounds), (10, 20, 40, 80), (1, 2)], names=["block", "users", "nothing"])
    rows = cells.to_frame(index=False)
    for _ in range(runs):
        drawn = rng.normal(0, 1, len(rows))
        shift = {
            "normal": drawn,
            "skewed": np.exp(drawn),
            "uneven": drawn * rows["users"] / 20,
            "in blocks": drawn + rng.normal(0, 2, rounds)[rows["block"]],
        }[noise]
        result = fit_formulas(rows.assign(y=50 + 0.1 * rows["users"] + shift), ["y ~ users + nothing"]).models[0]
        (reported,) = [effect for effect in effects(result) if effect.term == "nothing"]
        stated += " raises " in reported.sentence or " cuts " in reported.sentence
    return stated / runs


def shapes_said(levels: int, runs: int, slope: float) -> dict[str, float]:
    """Return how often the means of a load test on a straight line are said to bend, or to rise or fall."""
    rng, loads, found = np.random.default_rng(levels), np.linspace(10, 100, levels), np.zeros(2)
    for _ in range(runs):
        verdict = linearity(loads, 50 + slope * loads + rng.normal(0, 3, levels)).verdict
        found += verdict.startswith("bends"), verdict == "linear"
    return dict(zip(("bends", "changes"), found / runs, strict=True))


def knees_held(levels: int, runs: int, at: float = 60.0) -> dict[str, float]:
    """Return how often the bend of two lines is found, and how often the interval of what is found holds it."""
    rng, loads, found, held = np.random.default_rng(levels), np.linspace(10, 100, levels), 0, 0
    for _ in range(runs):
        means = loads + 2 * np.maximum(loads - at, 0) + rng.normal(0, 3, levels)
        one = knee(loads, means, rng)
        found += one.load is not None
        held += one.low is not None and one.high is not None and one.low <= at <= one.high
    return {"found": found / runs, "held": held / max(found, 1)}


def normal(spread: float) -> Draw:
    """Independent rounds around 1."""
    return lambda rng: 1 + spread * rng.normal(0, 1, RULE.most)


def outliers(spread: float) -> Draw:
    """The same, where one round of 50 is tenfold."""
    return lambda rng: normal(spread)(rng) * np.where(rng.random(RULE.most) < 0.02, 10.0, 1.0)


def drifting(spread: float) -> Draw:
    """Rounds of which each resembles the one before it: an autoregression of 0.5."""

    def draw(rng: np.random.Generator) -> Floats:
        steps = rng.normal(0, 1, RULE.most)
        for place in range(1, RULE.most):
            steps[place] = 0.5 * steps[place - 1] + np.sqrt(0.75) * steps[place]
        return 1 + spread * steps

    return draw


def stops(draw: Draw, runs: int, truth: float = 1.0) -> dict[str, float]:
    """Return how often the interval at stopping holds the truth, and how often it does or a warning names why not."""
    rng, covered, named = np.random.default_rng(1), 0, 0
    for _ in range(runs):
        values = draw(rng)
        count = next(n for n in range(RULE.fewest, RULE.most + 1) if decide(values[:n], RULE).stop)
        found = decide(values[:count], RULE)
        assert found.mean is not None
        assert found.half_width is not None
        holds = abs(found.mean - truth) <= found.half_width
        covered += holds
        named += holds or any("depend" in d or "resemble" in d for d in warnings({"s": values[:count]}, RULE))
    return {"covered": covered / runs, "covered_or_named": named / runs}


def lines(runs: int) -> Iterator[str]:
    """The table of docs/analysis.md."""
    yield "| what is said, of rounds that | " + " | ".join(f"{n} rounds" for n in ROUNDS) + " |"
    yield "|---|" + "---|" * len(ROUNDS)
    rows: dict[str, Callable[[int], float]] = {
        "*clearly*, of two equal configurations": lambda n: choices(2, n, runs)["clear"],
        "*clearly*, of ten equal ones": lambda n: choices(10, n, runs)["clear"],
        "another of two preferred to an equal baseline": lambda n: choices(2, n, runs)["over_baseline"],
        "another of ten preferred to an equal baseline": lambda n: choices(10, n, runs)["over_baseline"],
        "*clearly* and wrong, of two, one 5 % better": lambda n: choices(2, n, runs, 0.05)["wrong"],
        "*clearly* and wrong, of ten, one 5 % better": lambda n: choices(10, n, runs, 0.05)["wrong"],
        "*clearly* and right, of two, one 20 % better": lambda n: choices(2, n, runs, 0.2)["clear"],
        "*clearly* and right, of ten, one 20 % better": lambda n: choices(10, n, runs, 0.2)["clear"],
        "any *higher* or *lower* in a table of ten equal pairs": lambda n: tables(n, runs)["any"],
        "wrong share of *higher* and *lower*, ten equal pairs and five real": lambda n: tables(n, runs, 5)["share"],
        "any *clear* in a table of ten contrasts between equal rate limiters": lambda n: contrasts(n, runs),
        "any of four lines *better* or *worse* than its equal, at three loads": lambda n: findings_said(
            n, runs // 10, levels=3
        ),
        "beyond the noise floor, one scenario": lambda n: floors(n, runs, (0.05,)),
        "beyond the noise floor, the worst of unequal scenarios": lambda n: floors(n, runs, (0.01, 0.05, 0.3)),
    }
    for name, rate in rows.items():
        yield f"| {name} | " + " | ".join(f"{rate(n):.1%}" for n in ROUNDS) + " |"
    spreads = (0.01, 0.03, 0.1, 0.2)
    yield ""
    yield (
        "| the interval at stopping (5 %, 3 to 30 rounds) holds, at a spread of | "
        + " | ".join(f"{s:.0%}" for s in spreads)
        + " |"
    )
    yield "|---|" + "---|" * len(spreads)
    coverage: dict[str, Callable[[float], float]] = {
        "independent rounds: the mean": lambda s: stops(normal(s), runs)["covered"],
        "one of 50 tenfold: the typical round": lambda s: stops(outliers(s), runs)["covered"],
        "one of 50 tenfold: the mean with them": lambda s: stops(outliers(s), runs, 1.18)["covered"],
        "each resembles the one before (0.5): the mean": lambda s: stops(drifting(s), runs)["covered"],
        "the same, or a warning names it": lambda s: stops(drifting(s), runs)["covered_or_named"],
    }
    for name, held in coverage.items():
        yield f"| {name} | " + " | ".join(f"{held(s):.1%}" for s in spreads) + " |"
    kinds = ("normal", "skewed", "uneven", "in blocks")
    yield ""
    yield "| a model says of a factor that does nothing, of rounds whose noise is | " + " | ".join(kinds) + " |"
    yield "|---|" + "---|" * len(kinds)
    yield "| *raises* or *cuts* | " + " | ".join(f"{effects_said(kind, runs):.1%}" for kind in kinds) + " |"
    counts = (4, 6, 10, 20)
    yield ""
    yield "| a load test says, of levels that | " + " | ".join(f"{n} levels" for n in counts) + " |"
    yield "|---|" + "---|" * len(counts)
    shapes: dict[str, Callable[[int], float]] = {
        "*bend*, of a straight line": lambda n: shapes_said(n, runs, 0.5)["bends"],
        "*rise* or *fall*, of no change": lambda n: shapes_said(n, runs, 0.0)["changes"],
    }
    for name, rate in shapes.items():
        yield f"| {name} | " + " | ".join(f"{rate(n):.1%}" for n in counts) + " |"


if __name__ == "__main__":
    for line in lines(int(sys.argv[1]) if len(sys.argv) > 1 else 1000):
        print(line)
