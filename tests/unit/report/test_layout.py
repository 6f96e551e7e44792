"""Where each scenario stands in the figures."""

from dataclasses import replace
from itertools import product

import pytest
from tests.support.factors import factors
from tests.support.synthetic_run import FAULT, synthetic_run

from patternbench.records.stored import PlannedScenario
from patternbench.report.layout import distinct, layout
from patternbench.report.model import RunReport


def run_of(varied: dict[str, list[object]], *levels: dict[str, object]) -> RunReport:
    """Make a run of these scenarios, with rounds that no one looks at."""
    scenarios = [PlannedScenario(id=f"s{place}", levels=each) for place, each in enumerate(levels)]
    return replace(
        synthetic_run(rounds=1, users=[50], fault=[0]), factors=factors(varied, patterns=["delay"]), scenarios=scenarios
    )


def test_no_two_scenarios_share_a_place() -> None:
    scenarios = layout(synthetic_run(rounds=1)).scenarios
    assert len(scenarios) == 210
    assert len({(placed.row, placed.column, placed.x, placed.line) for placed in scenarios}) == 210


def test_lines_are_named_by_strategy_and_delay() -> None:
    found = layout(synthetic_run(rounds=1))
    assert distinct(placed.line for placed in found.scenarios)[:3] == ["baseline", "retry · 20 ms", "retry · 40 ms"]
    assert found.details == ["", "20 ms", "40 ms", "60 ms"]
    assert found.reference == "baseline"


def test_without_a_quantity_to_plot_against_the_lines_are_the_axis() -> None:
    """Each has its own place, and the axis needs no title."""
    levels = [{"method": name} for name in ("get", "put", "post")]
    axis = layout(run_of({"method": ["get", "put", "post"]}, *levels)).axis
    assert (axis.title, axis.places, axis.texts, axis.quantity) == ("", (0.0, 1.0, 2.0), ("get", "put", "post"), False)


def test_a_condition_is_what_strategies_are_compared_under() -> None:
    placed = layout(synthetic_run(rounds=1)).scenarios[-1]
    assert (placed.client, placed.condition.replace("\u00a0", " ")) == (
        "native",
        "150 users, abort percentage 80 %",
    )


def test_one_of_several_is_named_as_one() -> None:
    levels = [{"method": name, "users": users} for name in "ab" for users in (1, 2)]
    arranged = layout(run_of({"method": ["a", "b"], "users": [1, 2]}, *levels))
    assert distinct(placed.condition for placed in arranged.scenarios) == ["1 user", "2 users"]


def test_levels_that_do_not_vary_within_a_strategy_are_not_named() -> None:
    found = layout(
        run_of(
            {"strategy": ["retry", "hedge"], "delay": ["1ms", "2ms"], "tries": [2, 3]},
            {"strategy": "retry", "delay": "1ms", "tries": 3},
            {"strategy": "retry", "delay": "2ms", "tries": 3},
            {"strategy": "hedge", "delay": None, "tries": 2},
        )
    )
    assert distinct(placed.line for placed in found.scenarios) == ["retry · 1 ms", "retry · 2 ms", "hedge"]


def test_a_client_is_named_once_in_its_line_or_next_to_it() -> None:
    for clients, first in (("ab", "baseline (a)"), ("abcdefg", "baseline · a")):
        varied: dict[str, list[object]] = {"strategy": ["baseline", "retry"], "client": [*clients], "users": [1, 2]}
        levels = [dict(zip(varied, each, strict=True)) for each in product(*varied.values())]
        found = layout(run_of(varied, *levels))
        assert (distinct(placed.item for placed in found.scenarios)[0], found.reference) == (first, "baseline")


@pytest.mark.parametrize(
    "others",
    [{"client": ["a", "b"]}, {"client": ["a", "b"], "zone": ["x", "y"]}, {"zone": ["x", "y"], "disk": ["u", "v"]}],
)
def test_numbers_of_a_pattern_are_compared_only_under_one_client_and_one_condition(
    others: dict[str, list[object]],
) -> None:
    varied: dict[str, list[object]] = {"delay": [2, 10], **others}
    levels = {f"s{place}": dict(zip(varied, each, strict=True)) for place, each in enumerate(product(*varied.values()))}
    found = layout(run_of(varied, *levels.values()))
    assert found.axis_is_chosen
    for placed in found.scenarios:
        assert placed.baseline is not None
        assert levels[placed.baseline] == {**levels[placed.scenario], "delay": 2}
    assert len({(placed.item, placed.condition) for placed in found.scenarios}) == len(levels)
    assert found.reference.replace("\u00a0", " ") == "delay 2"


def test_a_configuration_does_not_repeat_its_strategy() -> None:
    varied: dict[str, list[object]] = {"strategy": ["baseline", "retry"], "retry.jitter": ["none", "full"]}
    levels: list[dict[str, object]] = [
        {"strategy": "baseline", "retry.jitter": None},
        {"strategy": "retry", "retry.jitter": "none"},
        {"strategy": "retry", "retry.jitter": "full"},
    ]
    found = layout(run_of(varied, *levels))
    assert distinct(placed.line for placed in found.scenarios) == [
        "baseline",
        "retry · jitter none",
        "retry · jitter full",
    ]


def test_without_a_baseline_the_first_declared_line_is_the_reference() -> None:
    found = layout(run_of({"strategy": ["a", "b"]}, {"strategy": "a"}, {"strategy": "b"}))
    assert found.reference == "a"
    assert not found.axis.quantity
    assert found.axis.texts == ("a", "b")


def test_where_all_strategies_are_baselines_another_pattern_is_compared_with_its_first_level() -> None:
    levels = [{"method": name, "users": users, "strategy": "baseline"} for name in "ab" for users in (1, 2)]
    arranged = layout(run_of({"method": ["a", "b"], "users": [1, 2], "strategy": ["baseline"]}, *levels))
    assert arranged.reference == "a"
    assert [placed.reference for placed in arranged.scenarios] == [True, True, False, False]
    assert [placed.baseline for placed in arranged.scenarios] == ["s0", "s1", "s0", "s1"]


def test_loads_of_one_configuration_are_not_compared() -> None:
    levels = [{"users": users, "strategy": "baseline"} for users in (1, 2)]
    arranged = layout(run_of({"users": [1, 2], "strategy": ["baseline"]}, *levels))
    assert all(placed.reference for placed in arranged.scenarios)


def test_what_is_on_or_off_is_named_by_what_it_is() -> None:
    arranged = layout(run_of({"method": [True, False]}, {"method": True}, {"method": False}))
    assert distinct(placed.line for placed in arranged.scenarios) == ["method", "no method"]


def test_durations_run_along_the_axis_in_milliseconds() -> None:
    levels = [{"delay.duration": text, "strategy": name} for text in ("20ms", "1s") for name in ("a", "b")]
    found = layout(run_of({"delay.duration": ["20ms", "1s"], "strategy": ["a", "b"]}, *levels))
    assert found.axis.title == "delay duration (ms)"
    assert found.axis.places == (20, 1000)


def test_rates_are_per_second() -> None:
    levels = [{"rate": rate, "method": name} for rate in (25, 100) for name in "ab"]
    arranged = layout(run_of({"rate": [25, 100], "method": ["a", "b"]}, *levels))
    assert arranged.axis.title == "rate (per second)"
    assert arranged.axis.texts == ("25/s", "100/s")
    assert distinct(placed.condition for placed in arranged.scenarios) == ["rate 25/s", "rate 100/s"]


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
    assert distinct(placed.line for placed in found.scenarios) == ["all"]


def test_each_line_is_compared_with_the_baseline_that_is_most_like_it_in_its_other_patterns() -> None:
    varied: dict[str, list[object]] = {"strategy": ["baseline", "retry"], "delay": ["1ms", "2ms"]}
    levels = [dict(zip(varied, each, strict=True)) for each in product(*varied.values())]
    for order in (levels, levels[::-1]):
        run = run_of(varied, *order)
        found = layout(run).frame().set_index("scenario")
        delays = {scenario.id: scenario.levels["delay"] for scenario in run.scenarios}
        assert found["reference"].sum() == 2
        assert {name: delays[base] for name, base in found["baseline"].items()} == delays
