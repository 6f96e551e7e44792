"""The table of steps: only where there are several, in medians over rounds."""

from __future__ import annotations

import pandas as pd
import pytest

from patternbench.analyze.metrics import step_metrics
from patternbench.records.stored import PlannedScenario
from patternbench.report.sections.steps import sections

SCENARIOS = [PlannedScenario(id="s", levels={"client": "native", "strategy": "baseline", "rate": 5})]


def attempts(*rows: tuple[int, str, int, int, int, bool]) -> pd.DataFrame:
    """Attempts of (user, step, call, attempt, milliseconds, success), each call a second after the one before."""
    made = []
    for user, step, call, attempt, took, success in rows:
        start = call * 1_000_000 + 100_000 * max(attempt - 1, 0)
        sent = attempt > 0
        made.append(
            {
                "user": user,
                "group": "all",
                "step": step,
                "call": call,
                "attempt": attempt,
                "intended_us": call * 1_000_000,
                "start_us": start,
                "end_us": start + took * 1000,
                "outcome": "answered" if sent else "dropped",
                "success": success,
                "warm_up": False,
            }
        )
    return pd.DataFrame(made)


def test_a_step_has_the_responses_of_its_own_calls() -> None:
    found = step_metrics(
        attempts(
            (0, "login", 0, 1, 10, True),
            (0, "order", 1, 1, 20, False),
            (0, "order", 1, 2, 30, True),
            (0, "order", 2, 1, 50, False),
            (0, "order", 4, 0, 0, False),
        )
    ).set_index("step")
    assert list(found.index) == ["login", "order"]
    assert found.loc["login", "p50"] == pytest.approx(0.010)
    assert found.loc["order", "TotalCalls"] == 3
    assert found.loc["order", "failure_rate"] == pytest.approx(200 / 3)
    assert found.loc["order", "p50"] == pytest.approx((0.130 + 0.050) / 2)
    assert found.loc["order", "calls_per_s"] == pytest.approx(3 / 4)


def test_one_step_makes_no_section() -> None:
    steps = step_metrics(attempts((0, "request", 0, 1, 10, True))).assign(scenario="s", round=0)
    assert sections(steps, SCENARIOS) == []


def test_several_steps_are_listed_under_their_scenario() -> None:
    one = step_metrics(attempts((0, "login", 0, 1, 10, True), (0, "order", 1, 1, 20, True)))
    two = step_metrics(attempts((0, "login", 0, 1, 30, True), (0, "order", 1, 1, 20, True)))
    steps = pd.concat([one.assign(scenario="s", round=0), two.assign(scenario="s", round=1)])
    (section,) = sections(steps, SCENARIOS)
    (table,) = section.tables
    assert list(table.frame["step"]) == ["login", "order"]
    assert set(table.frame["scenario"]) == {"native baseline, rate 5"}
    assert "20 ms" in set(table.frame.iloc[0])
