"""Units of a run's columns: quantities in words, levels as a study writes them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from patternbench.analyze.rounds import label
from patternbench.analyze.units import is_duration, level_text, quantity, read_level, span

SCHEMA = Path(__file__).parents[3] / "contracts" / "study" / "study.schema.json"


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


def test_durations_are_written_as_a_study_writes_them() -> None:
    assert level_text("retry.backoff.exponential.initial", 0.02) == "20ms"
    assert level_text("circuit_breaker.open_for", 1.5) == "1.5s"
    assert level_text("abort.percentage", 20) == "20"
    assert level_text("delay", 20.0) == "20"


def test_a_duration_is_read_with_its_unit_or_in_seconds() -> None:
    assert read_level("circuit_breaker.open_for", "20ms") == pytest.approx(0.02)
    assert read_level("circuit_breaker.open_for", "0.02") == 0.02
    with pytest.raises(ValueError, match="could not convert"):
        read_level("users", "20ms")


def test_a_scenario_is_named_without_what_its_strategy_already_says() -> None:
    levels = {"users": 50, "strategy": "retry", "retry.backoff.exponential.initial": 0.04, "retry.max_attempts": 3}
    assert label(levels) == "users=50, strategy=retry, initial=40ms, max_attempts=3"


def test_names_that_would_be_the_same_keep_their_paths() -> None:
    levels = {"strategy": "retry", "retry.a.size": 1, "retry.b.size": 2}
    assert label(levels) == "strategy=retry, retry.a.size=1, retry.b.size=2"


def test_every_duration_of_a_study_is_known_as_one() -> None:
    known = set(_durations(json.loads(SCHEMA.read_text())))
    assert {"initial", "open_for", "think_time"} <= known
    # No levels of a factor: bounds of a round and its preparation, an objective, what counts as late.
    never_levels = {"time_limit", "warm_up", "response_time", "floor"}
    assert [n for n in sorted(known - never_levels) if not is_duration(f"a.{n}")] == []


def _durations(schema: dict[str, Any]) -> Iterator[str]:
    """The names of all properties that may be written as a duration."""
    for model in [schema, *schema["$defs"].values()]:
        for name, one in model.get("properties", {}).items():
            if "(us|ms|s|m|h)" in json.dumps(one):
                yield name
