"""A pattern of the system counts as a strategy of a client does, alone and together with it."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest

from patternbench.analyze.compare.comparison import ComparisonOptions, compare_with_baseline
from patternbench.analyze.models.fit import Settings, fit_formulas
from patternbench.analyze.models.words import effects
from patternbench.analyze.recommend.recommendation import Criteria, recommend
from patternbench.lab import systems
from patternbench.observe.section import Section
from patternbench.plan.expand import Plan, expand
from patternbench.plan.factors import is_baseline
from patternbench.records.stored import PlannedScenario
from patternbench.report.labels import numeric
from patternbench.report.layout import layout
from patternbench.report.model import RunReport
from patternbench.report.sections.criteria import known_of
from patternbench.report.sections.declared import with_sections
from patternbench.report.sections.findings import findings, headlines
from patternbench.study.load import loads
from patternbench.study.model.settings import Settable
from patternbench.study.models import Study

ASKED = """\
patternbench: 1
name: patterns-of-both-sides
system:
  name: shop
  settings: {limiter: [none, gcra], bundle: [1, 25], balancing: [one, round_robin], lag: [0ms, 25ms]}
workload: {closed: {users: 20, successes: 10, max_attempts: 500}}
rounds: 4
"""
RETRYING = """\
strategies:
  - {client: native, baseline: {}}
  - {client: native, retry: {max_attempts: 3, backoff: {fixed: {delay: 5ms}}}}
"""
SYSTEM = Settable.model_validate(
    {
        "settings": {
            "limiter": {"default": "none", "about": "who is let in", "role": "pattern", "none": "none"},
            "bundle": {"default": 1, "about": "requests in one", "role": "pattern", "none": 1, "unit": "count"},
            "balancing": {"default": "one", "about": "who answers", "role": "pattern", "none": "one"},
            "lag": {"default": "0ms", "about": "to the store", "unit": "duration"},
        }
    }
)
FASTER = {"limiter": 0.9, "bundle": 0.5, "balancing": 0.8, "strategy": 0.7}
"""What each pattern does to the time of a call; a bundle with retries undoes what both bring."""


@cache
def study(text: str = ASKED + RETRYING) -> Study:
    return loads(text, "study.yaml")


@cache
def plan(text: str = ASKED + RETRYING) -> Plan:
    return expand(study(text), SYSTEM)


def report(text: str = ASKED + RETRYING) -> RunReport:
    """Rounds in which every pattern helps alone, and retries of bundles cost what both bring."""
    planned, source = plan(text), np.random.default_rng(8)
    rows = [
        {"round": 0, "block": block, "scenario": s.id, "status": "done", "valid": True}
        | {name: held(planned, name, level) for name, level in s.levels.items()}
        | measured(planned, s.levels, source)
        for block in range(4)
        for s in planned.scenarios
    ]
    described = [PlannedScenario(**scenario.as_json()) for scenario in planned.scenarios]
    rounds = pd.DataFrame(rows).assign(round=range(len(rows)))
    return RunReport("x", text, {}, planned.factors, described, rounds)


def held(planned: Plan, name: str, level: object) -> object:
    factor = planned.factors[name]
    return numeric(level, factor.unit) if factor.unit.value == "duration" else level


def measured(planned: Plan, levels: dict[str, object], source: np.random.Generator) -> dict[str, float]:
    on = {name for name in FASTER if planned.factors[name].none not in (None, levels.get(name))}
    seconds = 0.1 * float(np.prod([FASTER[name] for name in on]))
    if {"bundle", "strategy"} <= on:
        seconds *= 4
    if "limiter" in on and levels["lag"] != "0ms":
        seconds += 0.2
    seconds *= source.lognormal(0, 0.01)
    return {"call_success_p95": seconds, "goodput": 1 / seconds, "failure_rate": 0.1, "success_rate": 99.9}


def test_each_scenario_is_compared_with_the_one_where_every_pattern_is_none() -> None:
    made = report()
    table = layout(made).frame().set_index("scenario")
    levels = {each.id: each.levels for each in made.scenarios}
    bases = {name for name, each in levels.items() if is_baseline(each, made.factors)}
    assert set(table.index[table["reference"]]) == bases and len(bases) == 2  # near and far
    assert all(levels[base]["lag"] == levels[name]["lag"] for name, base in table["baseline"].items())
    assert set(table["condition"]) == {"lag 0 ms", "lag 25 ms"}


def test_findings_speak_of_patterns_of_both_sides_alone_and_together() -> None:
    made = report()
    found = findings(made).by_scenario
    reported = found[(found["response"] == "call_success_p95") & (found["condition"] == "lag 0 ms")].set_index("item")
    assert found["item"].nunique() == 15
    alone = reported.loc["baseline · bundle 25"]
    assert (alone["verdict"], alone["change"]) == ("better", pytest.approx(-50, abs=2))
    together = reported.loc["retry · bundle 25"]
    assert (together["verdict"], together["change"]) == ("worse", pytest.approx(0.5 * 0.7 * 4 * 100 - 100, abs=3))


def test_the_recommendation_chooses_among_patterns_of_both_sides_under_each_circumstance() -> None:
    made = report()
    found = recommend(made.rounds, Criteria(("minimise call_success_p95",), factors=known_of(made.factors)))
    assert found.conditions == ("lag",)
    near, far = (choice.chosen.scenario.levels for choice in found.choices if choice.chosen)
    best = {"bundle": 25, "balancing": "round_robin", "strategy": "baseline"}
    assert {**best, "limiter": "gcra"}.items() <= near.items()
    assert {**best, "limiter": "none"}.items() <= far.items()
    against = found.choices[0].against_baseline[0]
    assert against.baseline.startswith("limiter=none, bundle=1, balancing=one, lag=0ms, strategy=baseline")
    assert against.relative == pytest.approx(0.9 * 0.5 * 0.8 * 100 - 100, abs=2)
    assert [flip.between for flip in found.flips] == [(0.0, 0.025)]
    assert "At lag=25ms: clearly" in found.choices[1].text


def test_a_run_alone_is_compared_with_its_own_baseline() -> None:
    made = report()
    how = ComparisonOptions(responses=("call_success_p95",), factors=known_of(made.factors))
    found = compare_with_baseline(made.rounds, (), how)
    assert len(found.differences) == 30
    one = next(d for d in found.differences if d.levels["bundle"] == 25 and "lag=25ms" in d.scenario)
    assert one.verdict == "lower"


def test_a_baseline_that_is_named_is_the_one_most_like_the_scenario_in_its_other_patterns() -> None:
    made = report()
    how = ComparisonOptions(responses=("call_success_p95",), factors=known_of(made.factors))
    found = compare_with_baseline(made.rounds, ["strategy=baseline"], how).differences
    bundled = [d for d in found if d.levels["bundle"] == 25 and d.levels["lag"] == 0]
    assert [d.relative for d in bundled] == pytest.approx([0.7 * 4 * 100 - 100] * 4, abs=12)


def test_the_reference_of_a_model_is_the_level_at_which_a_pattern_is_none() -> None:
    made = report()
    rounds = made.rounds.assign(limiter=made.rounds["limiter"].replace("none", "off"))
    known = known_of({"limiter": replace(made.factors["limiter"], none="off")})
    (model,) = fit_formulas(rounds, ["call_success_p95 ~ limiter"], Settings(factors=known)).models
    assert model.fit.design.levels["limiter"] == ("off", "gcra")
    assert effects(model)[0].sentence.startswith("limiter = gcra instead of off")


def test_a_study_of_the_systems_patterns_needs_no_strategies() -> None:
    dummy = ASKED + "strategies: [{client: native, baseline: {}}]\n"
    assert [s.id for s in plan(ASKED).scenarios] == [s.id for s in plan(dummy).scenarios]
    made = with_sections(report(ASKED), study(ASKED))
    arrangement = layout(made)
    assert arrangement.reference == "no limiter"
    (choice, *_) = headlines(findings(made), arrangement, made.sections)
    first = "Lag 0 ms: clearly gcra · bundle 25, balancing round robin, of those that kept failed calls at most"
    assert first in choice.lead


def test_rounds_stop_by_themselves_for_each_combination_of_patterns() -> None:
    rule = "{until: {response: call_success_p95, half_width: 5%}, min: 3, max: 10}"
    made = with_sections(report(ASKED), loads(ASKED.replace("rounds: 4", f"rounds: {rule}"), "study.yaml"))
    (section,) = [section for section in made.sections if section.anchor == "stopping"]
    table = section.tables[0].frame
    assert len(table) == len(plan(ASKED).scenarios)
    assert table["scenario"].str.contains("lag=25ms").sum() == len(table) // 2


SHOP = """\
patternbench: 1
name: x
system:
  name: shop-behind-two-balancers
  settings: {algorithm: [no_limiter, gcra], store_delay: [0ms, 25ms], window: [6s, 60s], lease_expires: [20s, 30s]}
workload: {closed: {users: 2, successes: 3}}
"""


@pytest.mark.parametrize(
    ("name", "written"), [("store_delay", "0ms to 25ms"), ("window", "6s to 60s"), ("lease_expires", "20s to 30s")]
)
def test_durations_of_a_systems_settings_are_written_as_such(name: str, written: str) -> None:
    factors = expand(loads(SHOP, "study.yaml"), systems.load("shop-behind-two-balancers")).factors
    levels = [numeric(level, factors[name].unit) for level in factors[name].levels]
    source = np.random.default_rng(1)
    table = pd.DataFrame([{name: x, "p95": float(x) + source.normal(1, 0.01)} for x in levels * 6])
    (model,) = fit_formulas(table, [f"p95 ~ {name}"], Settings(factors=known_of(factors))).models
    assert effects(model)[0].sentence.startswith(f"Raising {name} from {written} raises p95")


def test_the_shop_knows_its_patterns_and_what_is_a_circumstance() -> None:
    factors = expand(loads(SHOP, "study.yaml"), systems.load("shop-behind-two-balancers")).factors
    roles = {name: factor.role.value for name, factor in factors.items()}
    assert roles == {
        **{"algorithm": "pattern", "store_delay": "world", "window": "pattern", "lease_expires": "pattern"},
        **{"client": "client", "strategy": "pattern"},
    }
    assert factors["algorithm"].none == "no_limiter"


POOLS = """\
patternbench: 1
name: pools
system: {name: shop, settings: {pool: [2, 10]}}
workload: {closed: {users: 20, successes: 10, max_attempts: 500}}
rounds: 6
"""
POOL = Settable.model_validate(
    {"settings": {"pool": {"default": 10, "about": "connections", "role": "pattern", "unit": "count"}}}
)


def pools() -> RunReport:
    """Rounds of two sizes of a pool, of which the larger one halves the time of a call."""
    planned, source = expand(loads(POOLS, "study.yaml"), POOL), np.random.default_rng(3)
    rows = [
        {"round": 0, "block": block, "scenario": s.id, "status": "done", "valid": True, **s.levels}
        | {"call_success_p95": source.lognormal(0, 0.01) / s.levels["pool"], "failure_rate": 0.0}  # type: ignore[operator]
        for block in range(6)
        for s in planned.scenarios
    ]
    described = [PlannedScenario.model_validate(one.as_json()) for one in planned.scenarios]
    return RunReport("x", POOLS, {}, planned.factors, described, pd.DataFrame(rows).assign(round=range(len(rows))))


def test_levels_of_a_pattern_that_are_numbers_are_compared_with_the_first_one() -> None:
    made = pools()
    arrangement = layout(made)
    assert arrangement.reference == "pool 2"
    compared = findings(made)
    (row,) = compared.by_item.query("response == 'call_success_p95'").itertuples()
    assert (row.item, row.verdict) == ("pool 10", "better")
    assert row.change == pytest.approx(-80, abs=1)
    first, *others = headlines(compared, arrangement)
    assert first.lead == "Better than pool 2 in some responses, clearly worse in none: pool 10."
    assert others[-1].lead == "Pool 10 gains over pool 2."


def test_what_to_choose_is_on_the_first_screen_though_no_two_scenarios_are_compared() -> None:
    made = pools()
    only = replace(made, scenarios=made.scenarios[:1])
    section = Section("recommendation", "What to choose", [], choice=["Only one was measured."])
    arrangement = layout(only)
    (reported,) = headlines(findings(only), arrangement, [section])
    assert reported.lead == "Only one was measured."
