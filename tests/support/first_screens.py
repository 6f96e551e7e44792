"""Pages that answer somebody's question, of made-up rounds: tests read their first screens, docs have pictures of them.

So a picture is remade by ``scripts/screenshots PICTURE`` without any run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
from scripts.site.analysis_pictures import made_up_run
from tests.support.factors import table_of
from tests.support.studies import changed, study
from tests.support.synthetic_run import synthetic_run
from tests.unit.analyze.test_loadtest import log
from tests.unit.ratelimit.test_section import row, whole_section
from tests.unit.report.test_evidence import SMALL
from tests.unit.report.test_evidence import report as measured
from tests.unit.traces.test_drawings import scenario

from patternbench.analyze.compare.comparison import ComparisonOptions, compare_repeated_runs
from patternbench.analyze.compare.gate import judge, parse_condition
from patternbench.analyze.load.loadtest import analyze_load_test
from patternbench.analyze.load.rate_search import RateStep, capacity, parse_objective
from patternbench.analyze.recommend.recommendation import Criteria, recommend
from patternbench.observe.section import Section
from patternbench.ratelimit.records.simulated import SimulationRecord
from patternbench.report.html import render
from patternbench.report.pages.capacity import capacity_html
from patternbench.report.pages.comparison import comparison_html, recommendation_html
from patternbench.report.pages.load_test import load_tests_html
from patternbench.report.sections.declared import with_sections
from patternbench.traces.report.section import section as calls


def which_retry() -> str:
    """A run of baseline, retries and breakers under two loads, with and without a fault: one retry is the best."""
    criteria = "{objectives: [minimise p95], subject_to: [failure_rate <= 5%]}"
    run = measured(rounds=8)
    (delay,) = [name for name in run.rounds if name.startswith("retry.")]
    best = np.where(run.rounds[delay] == "20ms", 0.8, 1.0)
    run = replace(run, rounds=run.rounds.assign(p95=run.rounds["p95"] * best))
    return render(with_sections(run, study(changed(SMALL, recommend=criteria))))


def rounds(seed: int, slower: float) -> pd.DataFrame:
    """Rounds of one version of a service under two loads."""
    draw = np.random.default_rng(seed)
    rows = [
        {"users": users, "block": block, "p95": 0.02 * users / 10 * slower * np.exp(draw.normal(0, 0.01))}
        for block in range(8)
        for users in (10, 50)
    ]
    return pd.DataFrame(rows).assign(failure_rate=0.0)


def which_release() -> str:
    """Two runs of each of two releases, of which the second one is slower."""
    how = ComparisonOptions(responses=("p95",), factors=table_of({"users": [10, 50]}))
    sides = [[rounds(seed, slower) for seed in seeds] for seeds, slower in (((1, 2, 3), 1.0), ((4, 5, 6), 1.3))]
    comparison = compare_repeated_runs(*sides, how)
    verdicts = judge(comparison, [parse_condition("p95 > +10%")])
    return comparison_html(
        comparison, verdicts, about=["A is runs/before, B is runs/after.", "They differ in nothing."]
    )


def which_by_criteria() -> str:
    """A recommendation by criteria of one's own: without a fault nothing gains, with one a retry does."""
    run = made_up_run(1)
    run = run[run["fault"].isin((0, 50)) & (run["users"] == 50)].drop(columns="users")
    baseline = ("strategy=baseline",)
    criteria = Criteria(("minimise p95",), ("failure_rate <= 5%",), conditions=("fault",), baseline=baseline)
    return recommendation_html(recommend(run, criteria))


def which_rate() -> str:
    """A search around a cliff at 500 calls a second."""
    steps = [RateStep(rate, 2000, 2 if rate <= 500 else 900) for rate in (250, 500, 500, 500, 510, 520, 520, 520, 1000)]
    objective = parse_objective("p95 <= 100ms")
    rates = pd.DataFrame([{"rate": f"{rate}/s", "rounds": "3", "missed": "1 %"} for rate in (250, 500, 520, 1000)])
    said = ["508 calls/s kept p95 <= 100ms in these minutes (95% interval 500 to 515)."]
    found, about = capacity(steps, objective), ["Measured with 9 rounds by patternbench 1, on a machine, 2 cores."]
    return capacity_html("http://shop.test/", said, rates, steps=steps, found=found, objective=objective, about=about)


def which_load() -> str:
    """A load test whose response times turn upwards at a load of 60."""
    return load_tests_html({"": analyze_load_test(log(bend_at=60))})


def with_section(section: Section) -> str:
    """The report of a run without any pattern, which has a section of an observer."""
    run = synthetic_run(rounds=4, users=[50], fault=[0], client=["native"], strategy=["baseline"])
    return render(replace(run, sections=(section,)))


def which_limiter() -> str:
    """Limiters in rounds of six blocks: two decide nearly as an exact log does, one may, and one does not."""
    errors = {"no limiter": 0.0, "sliding window log": 0.0, "gcra": 0.1, "token bucket": 0.9, "fixed window": 6.0}
    each = [(name, error, block) for block in range(6) for name, error in errors.items()]
    with TemporaryDirectory() as folder:
        rows = [
            row(name, 10.4, error + 0.05 * block, block, round=number)
            for number, (name, error, block) in enumerate(each)
        ]
        return with_section(whole_section(Path(folder) / "run", SimulationRecord({}, [], 0, 0.0), pd.DataFrame(rows)))


def which_calls() -> str:
    """A shop that asks its database for each line of an order."""
    with TemporaryDirectory() as folder:
        return with_section(calls([scenario(Path(folder), "lines 9", 9)]))


@dataclass(frozen=True)
class Question:
    """What somebody wants to know, where it is answered, and what must be read there."""

    asked: str
    page: Callable[[], str]
    answers: tuple[str, ...]


QUESTIONS: Mapping[str, Question] = {
    "retry": Question("Which retry?", which_retry, ("clearly retry",)),
    "release": Question(
        "Did the release get worse?",
        which_release,
        ("FAIL: p95 > +10% at users=", "B is worse than A: p95 response time +", "A is runs/before, B is runs/after."),
    ),
    "recommend": Question(
        "Which configuration, by my own criteria?", which_by_criteria, ("At fault=50: clearly strategy=retry",)
    ),
    "rate": Question("What rate can it take?", which_rate, ("508 calls/s kept p95 <= 100ms in these minutes",)),
    "load": Question(
        "From which load on does it slow down?",
        which_load,
        ("From a load of ", "response times rise", "Most failures: "),
    ),
    "limiter": Question(
        "Which limiter is accurate enough?",
        which_limiter,
        ("2 of 4 configurations are accurate enough: sliding window log over redis, gcra over redis.",),
    ),
    "calls": Question(
        "Where does the time go?", which_calls, ("shop asks mariadb core the same 9 times", "a single call for all")
    ),
}
