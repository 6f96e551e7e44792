"""What the observer of rate limiting contributes to a round: warnings and responses."""

from __future__ import annotations

import numpy as np
import pandas as pd
from tests.support.studies import study

from patternbench.analyze.recommend.recommendation import recommend
from patternbench.lab import systems
from patternbench.plan.expand import expand
from patternbench.ratelimit.analyze.throttling import summarize
from patternbench.ratelimit.observer import OBSERVER, store_warnings
from patternbench.ratelimit.plan.limit import EnforcedLimit
from patternbench.ratelimit.records.decisions import Decisions
from patternbench.ratelimit.responses import FROM_SUMMARY, RESPONSES, rule_of
from patternbench.report.model import RunReport
from patternbench.report.sections.criteria import DEFAULT, criteria_of
from patternbench.report.sections.declared import with_sections
from patternbench.run.before import evidence
from patternbench.terms.units import Duration

LIMIT = EnforcedLimit(algorithm="fixed_window", limit=2, window=Duration.parse("1s"), store="redis")


def decided(*times_ms: int, allowed: int = 99, limit: EnforcedLimit = LIMIT, by: str = "store") -> Decisions:
    """One client's requests, of which the first few were allowed."""
    count = len(times_ms)
    columns = {
        "client": ["ann"] * count,
        "time_us": np.array(times_ms, dtype=np.int64) * 1000,
        "allowed": [place < allowed for place in range(count)],
        "cost": np.ones(count, dtype=np.int64),
        "decided_by": [by] * count,
    }
    return Decisions(pd.DataFrame(columns), limit, 2)


def test_decisions_that_the_store_made_raise_no_warning() -> None:
    assert store_warnings(1000, 0) == []


def test_a_few_decisions_without_the_store_are_a_warning_and_many_make_the_round_worthless() -> None:
    fewest, few, many = (store_warnings(1000, number) for number in (1, 10, 11))
    assert [(found[0].kind, found[0].invalidates) for found in (fewest, few)] == [("store_missing", False)] * 2
    assert many[0].invalidates
    assert "11 of 1,000 decisions" in many[0].message
    assert len(many[0].remedy.split()) > 4


def test_the_warning_about_the_store_counts_what_was_decided_by_policy() -> None:
    (warning,) = OBSERVER.warnings(decided(0, 10, by="policy_local"))
    assert "2 of 2 decisions" in warning.message


def test_the_responses_of_a_round_are_those_of_the_judge_and_each_is_declared() -> None:
    seen = decided(0, 300, 600, 900)
    found = OBSERVER.measured(seen, {})
    summary = summarize(seen.table, rule_of(LIMIT))
    assert {name: found[name] for name in FROM_SUMMARY} == {name: summary[own] for name, own in FROM_SUMMARY.items()}
    assert found["throttling_deviation"] == found["wrongly_allowed"] == 50
    assert found["throttling_peak"] == 2
    assert list(found) == [response.name for response in RESPONSES]


def test_a_round_is_judged_by_the_limit_over_all_balancers_when_each_enforces_its_part() -> None:
    halved = LIMIT.model_copy(update={"limit": 1, "store": "memory"})
    found = OBSERVER.measured(decided(0, 300, 600, allowed=2, limit=halved), {"limit": 2})
    assert found["throttling_deviation"] == 0


def measured(**columns: list[object]) -> pd.DataFrame:
    """Four blocks of rounds of these configurations, which differ little from block to block."""
    one = pd.DataFrame(columns)
    numbers = one.select_dtypes("number")
    source = np.random.default_rng(1)
    blocks = [one.assign(block=block, **(numbers * source.normal(1, 1e-4, numbers.shape))) for block in range(4)]
    return pd.concat(blocks, ignore_index=True).assign(status="done", valid=True)


def test_where_a_study_does_not_say_the_cheapest_limiter_that_is_accurate_enough_is_recommended() -> None:
    requested = study(
        system="{name: shop-behind-two-balancers, settings: {algorithm: [no_limiter, gcra, fixed_window]}}"
    )
    plan = expand(requested, systems.load("shop-behind-two-balancers"))
    factors = {name: factor for name, factor in plan.factors.items() if name == "algorithm"}
    rows = measured(
        algorithm=["no_limiter", "gcra", "fixed_window", "token_bucket"],
        AverageSuccessTime=[0.010, 0.012, 0.011, 0.020],
        throttling_deviation_beyond_20ms=[np.nan, 0.5, 7.0, 0.0],
        decided_without_store=[np.nan, 0.0, 0.0, 0.0],
    )
    (choice,) = recommend(rows, criteria_of(requested, factors, rows.columns)).choices
    assert choice.chosen is not None
    assert choice.chosen.scenario.levels["algorithm"] == "gcra"
    assert choice.verdict == "kept"
    assert criteria_of(requested, factors, ["p95"]).objectives == DEFAULT.objectives


def test_what_a_limiter_is_chosen_by_is_reported_with_its_units_and_with_what_failing_means() -> None:
    rows = measured(
        algorithm=["no_limiter", "gcra", "fixed_window"],
        AverageSuccessTime=[0.010, 0.012, 0.011],
        throttling_deviation_beyond_20ms=[np.nan, 0.5, 7.0],
        decided_without_store=[np.nan, 0.0, 0.0],
    )
    requested = study(
        system="{name: shop-behind-two-balancers, settings: {algorithm: [no_limiter, gcra, fixed_window]}}"
    )
    plan = expand(requested, systems.load("shop-behind-two-balancers"))
    factors = {name: factor for name, factor in plan.factors.items() if name == "algorithm"}
    report = RunReport("x", "", {}, factors, (), rows.assign(scenario=rows["algorithm"]))
    (section,) = with_sections(report, requested).sections
    assert "throttling deviation beyond 20 ms at most 1 %" in section.choice[-1]
    assert section.choice[-1].endswith("Most calls that fail here are those that the limiter should reject.")
    table = section.tables[0].frame
    assert table["throttling_deviation_beyond_20ms"].tolist() == ["0.5 %"]


def test_a_study_that_says_what_to_choose_by_is_asked_first() -> None:
    requested = study(recommend="{objectives: [minimise p95]}")
    names = [response.name for response in RESPONSES]
    assert criteria_of(requested, {}, names).objectives == ("minimise p95",)


def test_a_study_may_aim_at_each_response_and_derive_from_it() -> None:
    for response in RESPONSES:
        aimed = study(recommend=f"{{objectives: [minimise {response.name}], subject_to: [{response.name} <= 1]}}")
        evidence.check(aimed, expand(aimed))
        derived = study(derived=f"{{twice: {response.name} * 2}}")
        evidence.check(derived, expand(derived))
