"""What tracing costs is reported for each share against no tracing at all, and no share is ever chosen."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from patternbench.analyze.recommend.recommendation import Criteria, recommend
from patternbench.plan.expand import expand
from patternbench.records.stored import PlannedScenario
from patternbench.report.layout import layout
from patternbench.report.model import RunReport
from patternbench.report.sections.criteria import known_of
from patternbench.report.sections.findings import findings
from patternbench.study.load import loads
from patternbench.study.model.settings import Settable
from patternbench.traces.report import cost

STUDY = """\
patternbench: 1
name: bundles
system: {{name: shop, settings: {{bundle: [1, 25]}}}}
workload: {{closed: {{users: 20, successes: 10, max_attempts: 500}}}}
rounds: 4
traces: {{sample: {sample}}}
"""
BUNDLE = {"default": 1, "about": "requests in one", "role": "pattern", "none": 1, "unit": "count"}
SYSTEM = Settable.model_validate({"settings": {"bundle": BUNDLE}})
SLOWER = {"0%": 1.0, "1%": 1.0, "100%": 1.2}
"""What a share of traces does to the time of a call."""


def report(sample: str = "[0%, 1%, 100%]") -> RunReport:
    """Rounds in which bundles halve the time of a call, and tracing all of them makes it a fifth longer."""
    text = STUDY.format(sample=sample)
    planned = expand(loads(text, "study.yaml"), SYSTEM)
    source = np.random.default_rng(1)
    done = {"round": 0, "status": "done", "valid": True}
    rows = [
        {**done, "block": block, "scenario": one.id, **one.levels, **measured(one.levels, drawn)}
        for block in range(4)
        for one, drawn in zip(planned.scenarios, source.normal(0, 1e-4, len(planned.scenarios)), strict=True)
    ]
    described = [PlannedScenario.model_validate(one.as_json()) for one in planned.scenarios]
    return RunReport("x", text, {}, planned.factors, described, pd.DataFrame(rows).assign(round=range(len(rows))))


def measured(levels: dict[str, object], drawn: float) -> dict[str, float]:
    seconds = (0.1 + drawn / 10) * SLOWER[str(levels["traces.sample"])] * (0.5 if levels["bundle"] == 25 else 1)
    return {"call_success_p95": seconds, "goodput": 1 / seconds, "failure_rate": 0.1, "success_rate": 99.9}


def test_what_to_choose_is_said_under_each_share_and_never_names_one() -> None:
    made = report()
    advice = recommend(made.rounds, Criteria(("minimise call_success_p95",), factors=known_of(made.factors)))
    assert advice.conditions == ("traces.sample",)
    chosen = [choice.chosen.scenario.levels for choice in advice.choices if choice.chosen]
    assert [(levels["traces.sample"], levels["bundle"]) for levels in chosen] == [("0%", 25), ("1%", 25), ("100%", 25)]


def test_findings_compare_what_is_traced_alike() -> None:
    made = report()
    arrangement = layout(made)
    assert {placed.condition for placed in arrangement.scenarios} == {f"traces sample {share}" for share in SLOWER}
    reported = findings(made).by_scenario.query("response == 'call_success_p95'")
    assert reported["change"].tolist() == pytest.approx([-50.0] * 3, abs=0.1)


def test_each_share_is_reported_with_what_it_costs_against_the_same_scenarios_without_tracing() -> None:
    made = report()
    (table,) = cost.tables(made.scenarios, made.done)
    rows = table.frame.set_index(["traced", "response"])
    slower = rows.loc[("100%", "p95 of successful calls")]
    assert (slower["change"], slower["verdict"]) == ("+20\u00a0%", "worse")
    assert rows.loc[("100%", "Goodput"), "verdict"] == "worse"
    assert set(rows.xs("1%")["verdict"]) == {"inconclusive"}


@pytest.mark.parametrize("sample", ["[1%, 100%]", "100%", "0%"])
def test_without_rounds_that_are_not_traced_nothing_is_said_of_the_cost(sample: str) -> None:
    planned = expand(loads(STUDY.format(sample=sample), "study.yaml"), SYSTEM)
    described = [PlannedScenario.model_validate(one.as_json()) for one in planned.scenarios]
    assert cost.tables(described, report().done) == []
