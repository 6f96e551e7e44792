"""Units of a run's columns: quantities in words, levels as a study writes them."""

import pytest

from patternbench.analyze.rounds import label
from patternbench.terms.factors import MEASURED_IN, NOTHING_KNOWN, ROLES, FactorTable, Trait
from patternbench.terms.quantities import Seconds, quantity, span
from patternbench.terms.roles import Role, Unit


@pytest.mark.parametrize(
    ("response", "value", "text"),
    [
        ("p95", 0.0125, "12.5 ms"),
        ("p95", 2.5, "2.5 s"),
        ("failure_rate", 0.5, "0.5 %"),
        ("goodput", 1234.0, "1,234/s"),
        ("total_time", 12.345, "12.3"),
    ],
)
def test_a_value_is_written_with_the_unit_of_its_response(response: str, value: float, text: str) -> None:
    assert quantity(response, value) == text


def test_both_ends_of_an_interval_share_a_unit() -> None:
    assert span("p95", 0.102, 0.137) == "102 to 137 ms"
    assert span("p95", 0.5, 3.0) == "0.5 to 3 s"


KNOWN = FactorTable(
    {
        "users": Trait("load", "count"),
        "retry.backoff.exponential.initial": Trait("pattern", "duration"),
        "window": Trait("pattern", "duration", 60.0),
        "x.limit": Trait("world", "count"),
    }
)


def test_durations_are_written_as_a_study_writes_them_where_a_factor_is_one() -> None:
    assert KNOWN.text("retry.backoff.exponential.initial", 0.02) == "20ms"
    assert KNOWN.text("window", 6) == "6s"
    assert KNOWN.text("users", 20.0) == "20"


def test_a_number_is_a_number_whatever_its_name_where_nothing_says_that_it_is_a_time() -> None:
    assert KNOWN.text("x.limit", 0.025) == "0.025"
    assert NOTHING_KNOWN.text("retry.backoff.exponential.initial", 0.02) == "0.02"
    assert NOTHING_KNOWN.held("delay", 0.5) == "0.5"


def test_a_duration_is_read_with_its_unit_or_in_seconds() -> None:
    assert KNOWN.read("window", "20ms") == pytest.approx(0.02)
    assert KNOWN.read("window", "0.02") == 0.02
    for name in ("users", "x.limit", "unknown"):
        with pytest.raises(ValueError, match="could not convert"):
            KNOWN.read(name, "20ms")


def test_the_roles_and_units_of_an_analysis_are_those_of_a_study() -> None:
    assert list(ROLES) == [role.value for role in Role]
    assert list(MEASURED_IN) == [unit.value for unit in Unit]


def test_a_scenario_is_named_without_what_its_strategy_already_says() -> None:
    levels = {
        "users": 50,
        "strategy": "retry",
        "retry.backoff.exponential.initial": Seconds(0.04),
        "retry.max_attempts": 3,
    }
    assert label(levels) == "users=50, strategy=retry, initial=40ms, max_attempts=3"


def test_names_that_would_be_the_same_keep_their_paths() -> None:
    levels = {"strategy": "retry", "retry.a.size": 1, "retry.b.size": 2}
    assert label(levels) == "strategy=retry, retry.a.size=1, retry.b.size=2"
