"""What a run says in words, on runs whose truth is known."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from tests.support.factors import factors
from tests.support.synthetic_run import FAULT, synthetic_run

from patternbench.analyze.compare.comparison import ComparisonOptions, compare_with_baseline
from patternbench.analyze.recommend.recommendation import Criteria, recommend
from patternbench.observe.section import Section
from patternbench.records.stored import PlannedScenario
from patternbench.report.labels import RESPONSES
from patternbench.report.layout import Axis, Layout, layout
from patternbench.report.model import RunReport
from patternbench.report.sections.criteria import known_of
from patternbench.report.sections.findings import Findings, Headline, findings, headlines, merged
from patternbench.terms.responses import ALONGSIDE, HEADLINES, Better


def run_with(
    medians: dict[str, tuple[float, float]],
    rounds: int = 8,
    noise: float = 0.02,
    failed: dict[str, float] | None = None,
    rejected: dict[str, float] | None = None,
) -> RunReport:
    """Make a run of one condition: each strategy's p95 of successes and time to a success, with seeded noise."""
    generator = np.random.default_rng(11)
    rows = [
        {
            "round": 0, "block": block, "scenario": name, "status": "done", "cause": None,
            **dict.fromkeys(RESPONSES, 1.0), "limited_rate": 0.0,
            "failure_rate": (failed or {}).get(name, 0.0),
            "success_rate": 100 - (failed or {}).get(name, 0.0),
            "rejected_rate": (rejected or {}).get(name, 0.0),
            "call_success_p95": success * generator.lognormal(0, noise),
            "time_to_success": execution * generator.lognormal(0, noise),
        }
        for block in range(rounds)
        for name, (success, execution) in medians.items()
    ]  # fmt: skip
    scenarios = [PlannedScenario(id=name, levels={"strategy": name}) for name in medians]
    empty = synthetic_run(rounds=1, users=[50], fault=[0])
    return replace(
        empty, factors=factors({"strategy": list(medians)}), scenarios=scenarios, rounds=pd.DataFrame(rows),
        latencies=empty.latencies.iloc[:0],
    )  # fmt: skip


def message(report: RunReport) -> tuple[Findings, list[Headline]]:
    arrangement: Layout = layout(report)
    found = findings(report)
    return found, headlines(found, arrangement)


def of(lines: list[Headline], title: str) -> Headline:
    return next(line for line in lines if line.title == title)


def plain(headline: Headline) -> str:
    return " ".join([headline.lead, *headline.more]).replace("\u00a0", " ")


def test_a_true_gain_is_found_with_an_interval_around_it() -> None:
    found, _ = message(run_with({"baseline": (1.0, 1.0), "retry": (0.6, 1.0)}))
    row = next(found.by_item.query("response == 'call_success_p95'").itertuples())
    assert row.verdict == "better"
    assert row.low < -40 < row.high
    assert row.high - row.low < 5


def test_a_response_that_two_configurations_have_in_no_common_block_is_compared_in_none() -> None:
    report = run_with({"baseline": (0.1, 0.2), "retry": (0.05, 0.1)})
    early, first = report.rounds["block"] < 4, report.rounds["scenario"] == "baseline"
    rounds = report.rounds.assign(call_success_p95=report.rounds["call_success_p95"].where(early == first))
    found, _ = message(replace(report, rounds=rounds))
    table = found.by_item
    lacking = table[table["response"] == "call_success_p95"].iloc[0]
    assert (lacking["conditions"], lacking["verdict"]) == (0, "too few rounds")
    assert table[table["response"] == "time_to_success"]["conditions"].item() == 1


def test_of_lines_that_fail_alike_none_fails_least() -> None:
    times = dict.fromkeys(("baseline", "retry", "breaker"), (1.0, 1.0))
    _, alike = message(run_with(times, failed=dict.fromkeys(times, 100.0)))
    assert not any("fails least" in plain(line) for line in alike)
    _, apart = message(run_with(times, failed={"baseline": 100.0, "retry": 90.0, "breaker": 100.0}))
    assert any("retry fails least" in plain(line) for line in apart)


def test_no_difference_is_not_called_one() -> None:
    found, _ = message(run_with({"baseline": (1.0, 1.0), "retry": (1.0, 1.0)}))
    assert set(found.by_item["verdict"]) == {"inconclusive"}


def test_the_largest_gain_is_named_with_its_cost_and_what_it_rejects() -> None:
    _, lines = message(run_with({"baseline": (1.0, 1.0), "retry": (0.6, 1.4), "breaker": (0.8, 1.0)}))
    success = plain(of(lines, "p95 of successful calls"))
    assert success.startswith("Retry, breaker gain over baseline. retry ")
    assert "0 % of calls failed, 0 % rejected. Its cost: time to a success +3" in success
    first = (
        "Better than baseline in some responses, clearly worse in none: breaker. Not excluded: breaker worse by up to"
    )
    assert plain(lines[0]).startswith(first)


def test_a_line_that_nothing_shows_better_is_not_named_among_the_better_ones() -> None:
    _, lines = message(run_with({"baseline": (1.0, 1.0), "retry": (0.6, 1.0), "breaker": (1.0, 1.0)}))
    assert "clearly worse in none: retry. " in plain(lines[0])
    assert "breaker" not in lines[0].lead


def test_when_every_gain_costs_something_it_says_so() -> None:
    _, lines = message(run_with({"baseline": (1.0, 1.0), "retry": (0.6, 1.4)}))
    assert lines[0].lead.startswith(
        "No free gain: each configuration that beats baseline in one response or condition is worse in another"
    )


def test_when_nothing_beats_the_baseline_it_says_so() -> None:
    _, lines = message(run_with({"baseline": (1.0, 1.0), "retry": (2.0, 1.0), "breaker": (1.5, 1.0)}))
    reported = of(lines, "p95 of successful calls")
    assert reported.verdict == "worse"
    assert plain(reported) == "Every configuration is worse than baseline."


def test_answers_that_are_fast_because_they_are_refused_are_no_gain() -> None:
    report = run_with(
        {"baseline": (1.0, 1.0), "breaker": (0.1, 9.0)}, failed={"breaker": 98.0}, rejected={"breaker": 97.0}
    )
    found, lines = message(report)
    assert found.by_item.query("response == 'call_success_p95'")["verdict"].tolist() == ["better"]
    assert plain(of(lines, "p95 of successful calls")) == "Only baseline kept failed calls at 1 % or below."
    reported = plain(of(lines, "Successful calls (share)"))
    assert reported.endswith("breaker fails least of the others: 98 % of calls failed, 97 % rejected.")
    assert all("gain" not in plain(line).replace("No free gain", "") for line in lines)


def in_regions(**failed: tuple[float, float]) -> RunReport:
    """Make a run in two regions: the share of calls that each strategy fails in each; retries halve the times."""
    generator = np.random.default_rng(11)
    regions = ("here", "there")
    times = {"baseline": 1.0, "retry": 0.5}
    scenarios = [
        PlannedScenario(id=f"{name} {region}", levels={"strategy": name, "region": region})
        for name in failed
        for region in regions
    ]
    rows = [
        {
            "round": 0, "block": block, "scenario": f"{name} {region}", "status": "done", "cause": None,
            **dict.fromkeys(RESPONSES, 1.0), "limited_rate": 0.0,
            "failure_rate": share,
            "success_rate": 100 - share,
            "rejected_rate": 0.0,
            "call_success_p95": times[name] * generator.lognormal(0, 0.02),
        }
        for block in range(8)
        for name, shares in failed.items()
        for region, share in zip(regions, shares, strict=True)
    ]  # fmt: skip
    empty = synthetic_run(rounds=1, users=[50], fault=[0])
    levels = factors({"strategy": list(failed), "region": list(regions)})
    return replace(
        empty, factors=levels, scenarios=scenarios, rounds=pd.DataFrame(rows), latencies=empty.latencies.iloc[:0]
    )


def test_a_line_that_breaks_the_limit_under_one_condition_gains_nothing() -> None:
    found, lines = message(in_regions(baseline=(0.0, 0.0), retry=(0.0, 1.5)))
    assert found.by_item["failed"].tolist() == [1.5] * len(found.by_item)
    assert not found.by_item["keeps"].any()
    assert of(lines, "p95 of successful calls").lead == "Only baseline kept failed calls at 1\u00a0% or below."
    _, kept = message(in_regions(baseline=(0.0, 0.0), retry=(0.0, 0.9)))
    assert of(kept, "p95 of successful calls").lead == "Retry gains over baseline on average over 2 conditions."


@pytest.mark.parametrize("broken", [(0.0, 5.0), (5.0, 0.0)])
def test_a_baseline_that_breaks_the_limit_under_one_condition_is_not_said_to_keep_it(
    broken: tuple[float, float],
) -> None:
    _, lines = message(in_regions(baseline=broken, retry=(9.0, 9.0)))
    reported = plain(of(lines, "p95 of successful calls"))
    assert reported.startswith("No configuration kept failed calls at 1 % or below")
    assert "Only baseline" not in reported


def test_a_difference_is_as_sure_whatever_is_measured_next_to_it_that_bears_no_verdict() -> None:
    report = run_with({"baseline": (1.0, 1.0), "retry": (0.9, 1.0)}, noise=0.05)
    neither = [name for name in (*HEADLINES, *ALONGSIDE) if RESPONSES[name].better is Better.NEITHER]
    apart = np.where(report.rounds["scenario"] == "retry", 9.0, 1.0) * np.linspace(1, 1.1, len(report.rounds))
    beside, alone = (
        message(replace(report, rounds=rounds))[0].by_item.set_index("response")["p"]
        for rounds in (report.rounds.assign(**dict.fromkeys(neither, apart)), report.rounds.drop(columns=neither))
    )
    assert neither and 0 < alone["call_success_p95"] < 1
    assert beside.drop(neither).to_dict() == pytest.approx(alone.to_dict(), nan_ok=True)


def test_the_failure_limit_of_the_study_decides_what_may_gain() -> None:
    report = run_with({"baseline": (1.0, 1.0), "retry": (0.6, 1.0)}, failed={"retry": 4.0})
    _, strict = message(report)
    _, mild = message(replace(report, failure_limit=5.0))
    assert of(strict, "p95 of successful calls").lead == "Only baseline kept failed calls at 1\u00a0% or below."
    assert of(mild, "p95 of successful calls").lead == "Retry gains over baseline."


def test_comparison_recommendation_and_report_tell_one_difference_alike() -> None:
    report = run_with({"baseline": (1.0, 1.0), "retry": (0.6, 1.0)}, rounds=5, noise=0.2)
    table = report.rounds.assign(strategy=report.rounds["scenario"])
    how = ComparisonOptions(by=("strategy",), responses=("call_success_p95",))
    known = known_of(report.factors)
    (compared,) = compare_with_baseline(table, ["strategy=baseline"], how).differences
    (choice,) = recommend(table, Criteria(("minimise call_success_p95",), by=("strategy",), factors=known)).choices
    (recommended,) = choice.against_baseline
    row = next(message(report)[0].by_scenario.query("response == 'call_success_p95'").itertuples())
    expected = pytest.approx((compared.relative, compared.relative_interval.low, compared.relative_interval.high))
    assert (row.change, row.low, row.high) == expected
    ends = recommended.relative_interval
    assert (recommended.relative, ends.low, ends.high) == expected


def test_one_round_supports_no_claim() -> None:
    found, lines = message(run_with({"baseline": (1.0, 1.0), "retry": (0.1, 0.1)}, rounds=1))
    assert set(found.by_item["verdict"]) == {"too few rounds"}
    assert all(line.lead.startswith("Too few rounds") for line in lines)


def test_false_discoveries_stay_rare_among_many_equal_lines() -> None:
    same = {"baseline": (1.0, 1.0)} | {f"line {place}": (1.0, 1.0) for place in range(60)}
    found, _ = message(run_with(same, rounds=5))
    assert (found.by_item["verdict"] != "inconclusive").mean() <= 0.05


def test_a_study_of_one_line_has_nothing_to_compare() -> None:
    found, lines = message(run_with({"baseline": (1.0, 1.0)}))
    assert found.by_item.empty
    assert lines == []


def test_shares_are_compared_in_points() -> None:
    found, lines = message(synthetic_run(rounds=4, users=[50], client=["native"]))
    reported = found.by_item[found.by_item["response"].isin(["success_rate", "rejected_rate"])]
    assert not reported["relative"].any()
    assert set(found.by_item["response"]) == {*HEADLINES, *ALONGSIDE}
    assert [line.title for line in lines[1:]] == [
        "Successful calls (share)", "Goodput", "Time to a success", "p95 of successful calls",
    ]  # fmt: skip


def test_the_published_shape_flips_along_the_fault_axis() -> None:
    found, lines = message(replace(synthetic_run(client=["native"]), failure_limit=20.0))
    slow = found.by_level.query("response == 'time_to_success' and item == 'retry · 60 ms'")
    assert slow.sort_values("x")["verdict"].tolist()[0] == "inconclusive"
    assert slow.sort_values("x")["verdict"].tolist()[-1] == "worse"
    reported = plain(of(lines, "Successful calls (share)"))
    assert reported.startswith("No clear gain over baseline at 0 %; retry")
    assert "gain over baseline" in reported
    assert "no configuration kept failed calls at 20 % or below at 80 %. " in reported


def test_with_several_clients_each_is_compared_with_its_own_baseline() -> None:
    _, lines = message(replace(synthetic_run(rounds=6, users=[50], fault=[40]), failure_limit=50.0))
    assert "over baseline of the same client" in plain(of(lines, "Successful calls (share)"))


@pytest.mark.slow
@pytest.mark.parametrize("response", HEADLINES)
def test_only_rounds_of_the_same_client_and_condition_are_compared(response: str) -> None:
    run = synthetic_run(rounds=2, fault=[0, 80])
    found, _ = message(run)
    pairs = found.by_scenario[found.by_scenario["response"] == response]
    assert len(pairs) == 2 * 3 * 2 * 6
    assert (pairs["conditions"] == 1).all()
    assert (found.by_item["conditions"] == 6).all()
    # What is slower as a whole, a client or a condition, is slower on both sides of each comparison.
    levels = {scenario.id: scenario.levels for scenario in run.scenarios}
    slow = [levels[name]["client"] == "native" or levels[name][FAULT] == 80 for name in run.rounds["scenario"]]
    times = ["time_to_success", "call_success_p95"]
    slower = run.rounds.assign(**{name: run.rounds[name] * np.where(slow, 7.0, 1.0) for name in times})
    again, _ = message(replace(run, rounds=slower))
    changes = again.by_scenario.loc[again.by_scenario["response"] == response, "change"]
    assert list(changes) == pytest.approx(list(pairs["change"]))


def test_a_section_that_knows_what_to_choose_leads_the_findings() -> None:
    report = run_with({"baseline": (1.0, 1.0), "retry": (0.6, 1.0)})
    arrangement = layout(report)
    section = Section("limits", "Limits", choice=["Choose the log.", "It is exact."])
    reported = headlines(findings(report), arrangement, [Section("steps", "Steps"), section])
    assert [plain(headline) for headline in reported if headline.title == "What to choose"] == [
        "Choose the log. It is exact."
    ]
    assert reported[0].title == "What to choose"


def test_neighbours_that_say_the_same_are_one_headline_under_all_their_titles() -> None:
    same = [Headline(title, "Nothing is clearly better.", (), "inconclusive") for title in ("Goodput", "p95 of calls")]
    other = Headline("Time to a success", "Retry gains.", (), "better")
    assert merged([*same, other]) == [replace(same[0], title="Goodput, p95 of calls"), other]


def test_levels_that_are_bare_numbers_are_reported_with_what_they_count() -> None:
    counted, sized = (Axis(title, (5.0, 25.0), ("5", "25"), quantity=True) for title in ("users", "bundle size"))
    assert [counted.named("5"), counted.named("5", first=True), counted.named("25", last=True)] == [
        "5 users", "5", "25 users",
    ]  # fmt: skip
    assert [sized.named("5"), sized.named("5", first=True), sized.named("25", last=True)] == [
        "bundle size 5", "bundle size 5", "25",
    ]  # fmt: skip
    assert counted.named("40 %") == "40 %"


def test_what_fails_least_is_the_reference_where_it_breaks_the_limit_too_but_by_less() -> None:
    report = run_with({"baseline": (1.0, 1.0), "retry": (1.0, 1.0)}, failed={"baseline": 8.4, "retry": 41.2})
    reported = plain(of(message(report)[1], "Successful calls (share)"))
    assert "baseline fails least: 8.4 % of calls failed." in reported
    assert "retry fails least" not in reported


def test_what_a_finding_leaves_out_for_its_failures_is_counted_behind_it() -> None:
    failing = {"hedge": 9.0, "breaker": 9.0}
    quick = {"hedge": (0.5, 1.0), "breaker": (0.5, 1.0)}
    _, lines = message(run_with({"baseline": (1.0, 1.0), "retry": (1.0, 1.0), **quick}, failed=failing))
    left_out = "No clear gain over baseline (2 configurations left out: more than 1 % of their calls failed)."
    assert plain(of(lines, "p95 of successful calls")).startswith(left_out)
    _, lines = message(run_with({"baseline": (1.0, 1.0), "retry": (2.0, 1.0), "hedge": (0.5, 1.0)}, failed=failing))
    reported = plain(of(lines, "p95 of successful calls"))
    assert reported.startswith("Every configuration is worse than baseline (1 configuration left out: ")
