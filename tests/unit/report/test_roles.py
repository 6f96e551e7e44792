"""Which factor goes where, for the published study and for studies that lack some of its factors."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.factors import factors
from tests.support.synthetic_run import BREAKER, FAULT, LEVELS, RETRY

from patternbench.report.roles import Roles, roles


def test_the_published_study_is_arranged_as_in_its_figures() -> None:
    assert roles(factors(LEVELS), {RETRY, BREAKER}) == Roles("client", "users", FAULT, "strategy", (RETRY, BREAKER))


def test_without_faults_the_load_runs_along_the_axis() -> None:
    found = roles(factors({"users": [1, 2, 3], "strategy": ["a", "b"], "client": ["x", "y"]}))
    assert (found.x, found.column, found.row, found.color) == ("users", None, "client", "strategy")


def test_a_fault_given_as_words_cannot_be_the_axis() -> None:
    found = roles(factors({"fault": ["abort", "reset"], "rate": [100, 200], "strategy": ["a", "b"]}))
    assert (found.x, found.column) == ("rate", "fault")


def test_durations_are_quantities() -> None:
    assert (
        roles(factors({"faults.delay.duration": ["20ms", "1s"], "strategy": ["a", "b"]})).x == "faults.delay.duration"
    )


def test_a_study_of_strategies_alone_has_no_quantity() -> None:
    assert roles(factors({"strategy": ["baseline", "retry"]})) == Roles(None, None, None, "strategy", ())


def test_the_only_strategys_parameter_gets_the_colour() -> None:
    found = roles(factors({FAULT: [0, 50], "users": [1, 2], "retry.max_attempts": [2, 4], "client": ["x", "y"]}))
    assert (found.x, found.column, found.row, found.color) == (FAULT, "users", "client", "retry.max_attempts")


def test_factors_with_one_level_have_no_role() -> None:
    assert roles(factors({"users": [50], "strategy": ["baseline"]})) == Roles(None, None, None, None, ())


def test_a_factor_of_one_strategy_only_tells_lines_apart() -> None:
    made = factors({"rate": [1, 2, 3], "strategy": ["a", "b"], "retry.delay": ["1ms", "2ms"]})
    found = roles(made, {"retry.delay"})
    assert found == Roles(None, None, "rate", "strategy", ("retry.delay",))


@pytest.mark.parametrize("levels", [list(range(7)), [str(level) for level in range(20)]])
def test_a_factor_of_many_levels_makes_no_panels(levels: list[Any]) -> None:
    found = roles(factors({FAULT: [0, 1], "strategy": ["a", "b"], "size": levels}))
    assert (found.row, found.column, found.detail) == (None, None, ("size",))


names = st.sampled_from(["users", "client", "strategy", FAULT, RETRY, "rate", "size", "fault", "url", "lib"])
levels = st.lists(st.sampled_from([0, 1, 2.5, "20ms", "1s", "a", "b", None, "c"]), min_size=1, unique=True)


@given(st.dictionaries(names, levels), st.sets(names))
def test_every_varying_factor_has_exactly_one_role(varied: dict[str, list[Any]], partial: set[str]) -> None:
    found = roles(factors(varied), partial)
    given_out = [*found.outside, *([found.color] if found.color else []), *found.detail]
    assert sorted(given_out) == sorted(name for name, values in varied.items() if len(values) > 1)


def test_a_pattern_of_the_system_gets_the_colour_as_a_strategy_does_and_no_axis() -> None:
    made = factors({"limit": [10, 100], "users": [1, 2]}, none={"limit": 10}, patterns=["limit"])
    assert roles(made) == Roles(None, None, "users", "limit", ())


def test_of_patterns_of_both_sides_the_strategy_gets_the_colour_and_the_others_tell_lines_apart() -> None:
    levels = {"algorithm": ["none", "gcra"], "store": ["a", "b"], "strategy": ["baseline", "retry"], "users": [1, 2]}
    made = factors(levels, none={"algorithm": "none"}, patterns=["algorithm", "store"])
    assert roles(made) == Roles(None, None, "users", "strategy", ("algorithm", "store"))


def test_the_only_pattern_is_the_axis_where_it_is_a_quantity_that_is_compared_with_nothing() -> None:
    assert roles(factors({"retry.max_attempts": [1, 2, 3]})) == Roles(None, None, "retry.max_attempts", None, ())
