"""The cards of the first screen agree with each other, and say nothing that the configuration sets by itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from tests.support.factors import factors
from tests.unit.report.test_findings import message, of, plain, run_with

from patternbench.analyze.recommend.recommendation import Criteria, recommend
from patternbench.observe.section import Section, Stand
from patternbench.records.stored import PlannedScenario
from patternbench.report.html import by_condition
from patternbench.report.layout import layout
from patternbench.report.model import RunReport
from patternbench.report.sections.construction import REJECTED, as_constructed, by_construction, set_by_limits
from patternbench.report.sections.findings import Headline, findings, headlines
from patternbench.report.sections.stands import stands
from patternbench.terms.roles import Role

P95 = "call_success_p95"
ALL = frozenset({"baseline", "retry"})


def beside(report: RunReport, stand: Stand) -> list[Headline]:
    """The cards next to a choice that says this."""
    arrangement = layout(report)
    section = Section("recommendation", "What to choose", choice=["It is chosen."], stands=[stand])
    return headlines(findings(report), arrangement, [section])


def titles(reported: list[Headline]) -> list[str]:
    return [one.title for one in reported]


def test_no_card_denies_the_gain_of_what_is_clearly_the_choice() -> None:
    alike = run_with({"baseline": (1.0, 1.0), "retry": (1.0, 1.0)}, noise=0.2)
    assert "p95 of successful calls" not in titles(beside(alike, Stand(P95, ALL, best=frozenset({"retry"}))))
    assert "p95 of successful calls" in titles(beside(alike, Stand("p99", ALL, best=frozenset({"retry"}))))


def test_a_card_that_agrees_with_the_choice_is_reported() -> None:
    gains = run_with({"baseline": (1.0, 1.0), "retry": (0.5, 1.0)})
    assert "p95 of successful calls" in titles(beside(gains, Stand(P95, ALL, best=frozenset({"retry"}))))


def test_no_card_names_a_gain_over_a_baseline_that_is_the_choice() -> None:
    gains = run_with({"baseline": (1.0, 1.0), "retry": (0.5, 1.0)})
    for stand in (Stand(P95, ALL, no_gain=True), Stand(P95, ALL, best=frozenset({"baseline"}))):
        assert "p95 of successful calls" not in titles(beside(gains, stand))


def test_what_breaks_a_limit_of_the_choice_gains_nothing_in_any_card() -> None:
    gains = run_with({"baseline": (1.0, 1.0), "retry": (0.5, 1.0)})
    reported = beside(gains, Stand("goodput", ALL, best=frozenset({"baseline"}), broken=frozenset({"retry"})))
    assert "gains" not in plain(of(reported, "p95 of successful calls"))


def test_a_line_that_breaks_another_limit_of_the_choice_is_left_out_by_name_of_that_limit() -> None:
    slower = run_with({"baseline": (1.0, 1.0), "retry": (2.0, 1.0), "hedge": (1.0, 1.0)}, noise=0.01)
    assert "Every configuration is worse" not in plain(of(message(slower)[1], "p95 of successful calls"))
    stand = Stand("goodput", frozenset({"baseline", "retry", "hedge"}), broken=frozenset({"hedge"}))
    card = plain(of(beside(slower, stand), "p95 of successful calls"))
    assert card.startswith("Every configuration is worse than baseline (1 configuration left out: beyond a limit")


def test_what_breaks_another_limit_of_the_choice_is_not_said_to_fail() -> None:
    gains = run_with({"baseline": (1.0, 1.0), "retry": (0.5, 1.0)})
    reported = beside(gains, Stand("goodput", ALL, broken=frozenset({"retry"})))
    card = plain(of(reported, "p95 of successful calls"))
    assert "Only baseline kept failed calls at 1 % or below and the limits of the choice." in card
    assert "fails least" not in " ".join(map(plain, reported))


def test_under_a_limit_everything_means_what_keeps_the_limits_of_the_choice() -> None:
    stand = Stand("goodput", ALL, broken=frozenset({"retry"}))
    card = plain(of(beside(limited(1.0), stand), "p95 of successful calls"))
    assert "Only baseline kept the limits of the choice." in card


def test_what_fails_least_is_not_told_next_to_what_came_closest() -> None:
    failing = run_with({"baseline": (1.0, 1.0), "retry": (1.0, 1.0)}, failed={"baseline": 8.0, "retry": 41.0})
    assert "fails least" in plain(of(message(failing)[1], "Successful calls (share)"))
    reported = beside(failing, Stand(P95, ALL, broken=ALL, closest=True))
    assert "fails least" not in " ".join(map(plain, reported))


def of_faults(retry_under_abort: float, retry_else: float) -> RunReport:
    """A run under two faults, of which one acts at a time: the p95 of a retry against a baseline of 1 s."""
    times = {("none", "baseline"): 1.0, ("none", "retry"): retry_else}
    times |= {("abort", "baseline"): 1.0, ("abort", "retry"): retry_under_abort}
    plainly = run_with({f"{fault} {name}": (p95, 1.0) for (fault, name), p95 in times.items()})
    levels = [{"fault kind": fault, "strategy": name} for fault, name in times]
    found = factors({"fault kind": ["none", "abort"], "strategy": ["baseline", "retry"]})
    found["fault kind"] = replace(found["fault kind"], role=Role.WORLD)
    scenarios = [PlannedScenario(id=f"{one['fault kind']} {one['strategy']}", levels=one) for one in levels]
    return replace(plainly, factors=found, scenarios=scenarios)


def test_an_answer_that_turns_with_the_fault_is_reported_for_each_and_not_as_a_mean() -> None:
    card = of(message(of_faults(0.4, 1.5))[1], "p95 of successful calls")
    assert "gains" not in card.lead
    assert "retry is better at fault kind abort, and worse at fault kind none." in plain(card)
    assert message(of_faults(0.4, 1.5))[1][0].lead.startswith("No free gain")


def test_a_gain_that_is_a_mean_over_conditions_says_so_and_where_it_is_clear() -> None:
    card = plain(of(message(of_faults(0.4, 1.0))[1], "p95 of successful calls"))
    assert "Retry gains over baseline on average over 2 conditions." in card
    assert "By itself clearly better at fault kind abort." in card


def test_the_table_of_configurations_has_a_row_for_each_of_a_few_conditions() -> None:
    found, _ = message(of_faults(0.4, 1.5))
    rows = [name for name, _ in by_condition(found, found.by_item)]
    assert rows == ["retry, fault kind none", "retry, fault kind abort"]


def limited(refused: float) -> RunReport:
    failed = {"baseline": 0.0, "retry": 40.0}
    report = run_with({"baseline": (1.0, 1.0), "retry": (1.0, 1.6)}, failed=failed)
    return replace(report, rounds=report.rounds.assign(limited_rate=refused * report.rounds["failure_rate"]))


def test_what_a_limit_lets_through_is_said_to_be_set_and_is_no_finding() -> None:
    reported = message(limited(1.0))[1]
    assert [plain(one) for one in reported if one.title == "What the limit lets through"] == [REJECTED]
    assert not {"Goodput", "Successful calls (share)", "Time to a success"} & set(titles(reported))
    assert "kept failed calls" not in plain(of(reported, "p95 of successful calls"))


def test_failures_that_a_limit_did_not_cause_are_found() -> None:
    assert not set_by_limits(limited(0.5).done)
    assert "Successful calls (share)" in titles(message(limited(0.5))[1])
    assert not set_by_limits(pd.DataFrame({"failure_rate": [0.0], "limited_rate": [0.0]}))


def test_a_choice_by_what_its_yardstick_decides_says_that_it_is_so_by_construction() -> None:
    rounds = pd.DataFrame({"failure_rate": [40.0], "limited_rate": [40.0]})
    (yardstick,) = by_construction(rounds, ["AverageSuccessTime", "throttling_deviation_beyond_20ms"])
    assert yardstick.startswith("Throttling deviation counts the requests that an exact sliding log")
    assert by_construction(rounds, ["failure_rate"]) == [REJECTED]
    assert by_construction(rounds, ["p95"]) == []
    assert np.all([not by_construction(rounds.assign(limited_rate=0.0), ["failure_rate"])])


def test_what_alone_keeps_the_limits_by_construction_is_not_called_clearly_the_choice() -> None:
    rounds = pd.DataFrame({
        "algorithm": ["log", "bucket"] * 6, "p95": [1.0, 0.5] * 6, "deviation": [0.0, 15.0] * 6, "block": range(12),
    })  # fmt: skip
    criteria = Criteria(("minimise p95",), ("deviation <= 1%",), by=("algorithm",), conditions=())
    assert as_constructed("Clearly log.", recommend(rounds, criteria)) == "By construction log."
    both = recommend(rounds, replace(criteria, limits=("deviation <= 20%",)))
    assert as_constructed("Clearly bucket.", both) == "Clearly bucket."


def test_a_limit_makes_calls_fail_where_it_refused_nearly_all_of_however_few() -> None:
    few = pd.DataFrame({"failure_rate": [0.2, 0.3], "limited_rate": [0.2, 0.2951]})
    assert "goodput" in set_by_limits(few)
    assert not set_by_limits(few.assign(limited_rate=[0.2, 0.2949]))


@pytest.mark.parametrize(("limit", "closest"), [("failure_rate <= 2%", False), ("failure_rate <= 0.5%", True)])
def test_a_choice_is_the_closest_to_a_limit_only_where_nothing_keeps_it(limit: str, closest: bool) -> None:
    rounds = pd.DataFrame(
        [(name, name, block, p95, 1.0) for block in range(4) for name, p95 in (("a", 1.0 + block), ("b", 3.0 + block))],
        columns=["scenario", "users", "block", "p95", "failure_rate"],
    )
    criteria = Criteria(("minimise p95",), (limit,), by=("users",))
    (stand,) = stands(recommend(rounds, criteria), rounds, criteria)
    assert stand.closest is closest
    assert stand.broken == (frozenset("ab") if closest else frozenset())
    assert stand.among == frozenset("ab")
