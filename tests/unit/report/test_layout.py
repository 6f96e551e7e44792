"""Where each scenario stands in the figures."""

from dataclasses import replace

from tests.support.factors import factors
from tests.support.synthetic_run import FAULT, synthetic_run

from patternbench.records.stored import PlannedScenario
from patternbench.report.layout import layout
from patternbench.report.model import RunReport


def run_of(varied: dict[str, list[object]], *levels: dict[str, object]) -> RunReport:
    """Make a run of these scenarios, with rounds that nobody looks at."""
    scenarios = [PlannedScenario(id=f"s{place}", levels=each) for place, each in enumerate(levels)]
    return replace(
        synthetic_run(rounds=1, users=[50], fault=[0]), factors=factors(varied, patterns=["delay"]), scenarios=scenarios
    )


def test_no_two_scenarios_share_a_place() -> None:
    table = layout(synthetic_run(rounds=1)).scenarios
    assert len(table) == 210
    assert not table.duplicated(["row", "column", "x", "line"]).any()


def test_lines_are_named_by_strategy_and_delay() -> None:
    found = layout(synthetic_run(rounds=1))
    assert found.order("line")[:3] == ["baseline", "retry · 20 ms", "retry · 40 ms"]
    assert found.details == ["", "20 ms", "40 ms", "60 ms"]
    assert found.reference == "baseline"


def test_a_condition_is_what_strategies_are_compared_under() -> None:
    row = layout(synthetic_run(rounds=1)).scenarios.iloc[-1]
    assert (row["client"], row["condition"].replace("\u00a0", " ")) == (
        "native",
        "150 users, abort percentage 80 %",
    )


def test_levels_that_do_not_vary_within_a_strategy_are_not_named() -> None:
    found = layout(
        run_of(
            {"strategy": ["retry", "hedge"], "delay": ["1ms", "2ms"], "tries": [2, 3]},
            {"strategy": "retry", "delay": "1ms", "tries": 3},
            {"strategy": "retry", "delay": "2ms", "tries": 3},
            {"strategy": "hedge", "delay": None, "tries": 2},
        )
    )
    assert found.order("line") == ["retry · 1 ms", "retry · 2 ms", "hedge"]


def test_without_a_baseline_the_first_declared_line_is_the_reference() -> None:
    found = layout(run_of({"strategy": ["a", "b"]}, {"strategy": "a"}, {"strategy": "b"}))
    assert found.reference == "a"
    assert not found.axis.quantity
    assert found.axis.texts == ("a", "b")


def test_durations_run_along_the_axis_in_milliseconds() -> None:
    levels = [{"delay.duration": text, "strategy": name} for text in ("20ms", "1s") for name in ("a", "b")]
    found = layout(run_of({"delay.duration": ["20ms", "1s"], "strategy": ["a", "b"]}, *levels))
    assert found.axis.title == "delay duration (ms)"
    assert found.axis.places == (20, 1000)


def test_levels_of_the_axis_keep_their_texts() -> None:
    found = layout(synthetic_run(rounds=1))
    assert found.roles.x == FAULT
    assert [text.replace("\u00a0", " ") for text in found.axis.texts] == [
        "0 %",
        "20 %",
        "40 %",
        "60 %",
        "80 %",
    ]


def test_one_scenario_is_a_study_too() -> None:
    found = layout(run_of({"users": [1]}, {"users": 1}))
    assert found.order("line") == ["all"]
