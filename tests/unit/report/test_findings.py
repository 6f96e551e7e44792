"""What a run says in words, on runs whose truth is known."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from tests.support.synthetic_run import synthetic_run

from patternbench.analyze.metrics import RESPONSES
from patternbench.report.findings import Findings, Headline, findings, headlines
from patternbench.report.layout import Layout, layout
from patternbench.report.model import RunReport, Section
from patternbench.report.words import HEADLINES


def run_with(medians: dict[str, tuple[float, float]], rounds: int = 8, noise: float = 0.02) -> RunReport:
    """Make a run of one condition: each strategy's success time and execution time, with seeded noise."""
    generator = np.random.default_rng(11)
    rows = [
        {
            "round": 0, "block": block, "scenario": name, "status": "done", "cause": None,
            **dict.fromkeys(RESPONSES, 1.0),
            "AverageSuccessTime": success * generator.lognormal(0, noise),
            "TotalExecutionTime": execution * generator.lognormal(0, noise),
        }
        for block in range(rounds)
        for name, (success, execution) in medians.items()
    ]  # fmt: skip
    scenarios = [{"id": name, "levels": {"strategy": name}} for name in medians]
    empty = synthetic_run(rounds=1, users=[50], fault=[0])
    return replace(
        empty, factors={"strategy": list(medians)}, scenarios=scenarios, rounds=pd.DataFrame(rows),
        latencies=empty.latencies.iloc[:0],
    )  # fmt: skip


def said(report: RunReport) -> tuple[Findings, list[Headline]]:
    arrangement: Layout = layout(report)
    found = findings(report, arrangement)
    return found, headlines(found, arrangement)


def plain(headline: Headline) -> str:
    return " ".join([headline.lead, *headline.more]).replace("\u00a0", " ")


def test_a_true_gain_is_found_with_an_interval_around_it() -> None:
    found, _ = said(run_with({"baseline": (1.0, 1.0), "retry": (0.6, 1.0)}))
    row = next(found.by_item.query("response == 'AverageSuccessTime'").itertuples())
    assert row.verdict == "better"
    assert row.low < -40 < row.high
    assert row.high - row.low < 5


def test_no_difference_is_not_called_one() -> None:
    found, _ = said(run_with({"baseline": (1.0, 1.0), "retry": (1.0, 1.0)}))
    assert set(found.by_item["verdict"]) == {"unclear"}


def test_the_best_is_named_with_its_cost() -> None:
    _, lines = said(run_with({"baseline": (1.0, 1.0), "retry": (0.6, 1.4), "breaker": (0.8, 1.0)}))
    success = plain(lines[1])
    assert success.startswith("Retry is best: ")
    assert "Its cost: total execution time" in success
    assert plain(lines[0]) == "Better than baseline in something, clearly worse in nothing: breaker."


def test_when_every_gain_costs_something_it_says_so() -> None:
    _, lines = said(run_with({"baseline": (1.0, 1.0), "retry": (0.6, 1.4)}))
    assert lines[0].lead == "No free gain: whatever beats baseline in one response is worse in another."


def test_when_nothing_beats_the_baseline_the_nearest_is_named() -> None:
    _, lines = said(run_with({"baseline": (1.0, 1.0), "retry": (2.0, 1.0), "breaker": (1.5, 1.0)}))
    assert lines[1].verdict == "worse"
    assert lines[1].lead.startswith("Nothing beats baseline overall. Nearest is breaker: ")


def test_a_line_that_cannot_be_told_from_the_best_is_said() -> None:
    _, lines = said(run_with({"baseline": (1.0, 1.0), "a": (0.6, 1.0), "b": (0.601, 1.0)}))
    assert "Not clearly different from it" in plain(lines[1])


def test_one_round_supports_no_claim() -> None:
    found, lines = said(run_with({"baseline": (1.0, 1.0), "retry": (0.1, 0.1)}, rounds=1))
    assert set(found.by_item["verdict"]) == {"unknown"}
    assert all(line.lead.startswith("Too few rounds") for line in lines)


def test_false_discoveries_stay_rare_among_many_equal_lines() -> None:
    same = {"baseline": (1.0, 1.0)} | {f"line {place}": (1.0, 1.0) for place in range(60)}
    found, _ = said(run_with(same, rounds=5))
    assert (found.by_item["verdict"] != "unclear").mean() <= 0.05


def test_a_study_of_one_line_has_nothing_to_compare() -> None:
    found, lines = said(run_with({"baseline": (1.0, 1.0)}))
    assert found.by_item.empty
    assert lines == []


def test_a_response_that_can_be_zero_is_compared_by_difference() -> None:
    report = synthetic_run(rounds=4, users=[50], client=["native"])
    found, lines = said(report)
    failed = found.by_item[found.by_item["response"] == "failure_rate"]
    assert not failed["relative"].any()
    assert "points below baseline" in lines[-1].lead


def test_the_published_shape_flips_along_the_fault_axis() -> None:
    found, lines = said(synthetic_run())
    slow = found.by_level.query("response == 'TotalExecutionTime' and item == 'retry · 60 ms (native)'")
    assert slow.sort_values("x")["verdict"].tolist()[0] == "unclear"
    assert slow.sort_values("x")["verdict"].tolist()[-1] == "worse"
    assert "By abort percentage: no clear difference at 0 %, better from 20 % to 80 %." in plain(lines[1])
    assert [line.title for line in lines[1:]] == [
        "Average success time", "Total execution time", "p95 response time", "Failed calls",
    ]  # fmt: skip


def test_with_several_clients_each_is_compared_with_its_own_baseline() -> None:
    _, lines = said(synthetic_run(rounds=3, users=[50], fault=[80]))
    assert "below baseline of the same client." in plain(lines[1])


@pytest.mark.parametrize("response", HEADLINES)
def test_only_rounds_of_the_same_client_and_condition_are_compared(response: str) -> None:
    found, _ = said(synthetic_run(rounds=2, fault=[0, 80]))
    pairs = found.by_scenario[found.by_scenario["response"] == response]
    assert len(pairs) == 2 * 3 * 2 * 6
    assert (pairs["conditions"] == 1).all()
    assert (found.by_item["conditions"] == 6).all()


def test_a_section_that_knows_what_to_choose_leads_the_findings() -> None:
    report = run_with({"baseline": (1.0, 1.0), "retry": (0.6, 1.0)})
    arrangement = layout(report)
    section = Section("limits", "Limits", choice=["Choose the log.", "It is exact."])
    told = headlines(findings(report, arrangement), arrangement, [Section("steps", "Steps"), section])
    assert [plain(headline) for headline in told if headline.title == "What to choose"] == [
        "Choose the log. It is exact."
    ]
    assert told[0].title == "What to choose"
