"""Numbers, levels and factors, as a person would write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patternbench.analyze import metrics
from patternbench.observe import registry
from patternbench.plan.factors import Factor
from patternbench.report.labels import RESPONSES, factor_title, level_text, numeric, shown
from patternbench.report.measures import in_table
from patternbench.terms.quantities import number
from patternbench.terms.roles import Role, Unit


def test_every_response_of_the_records_has_words() -> None:
    assert set(RESPONSES) == {*metrics.RESPONSES, *(response.name for response in registry.responses())}


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        (0.0123456, "time", "12.3 ms"),
        (1.9, "time", "1,900 ms"),
        (12.34, "time", "12.3 s"),
        (0.0, "percent", "0 %"),
        (99.96, "percent", "100 %"),
        (1234567.0, "count", "1,234,567"),
        (3.456, "factor", "3.46×"),
        (float("nan"), "time", "–"),
        (None, "rate", "–"),
    ],
)
def test_a_value_is_shown_with_its_unit(value: float | None, kind: str, text: str) -> None:
    assert shown(value, kind) == text


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("users", "users"),
        ("faults.abort.percentage", "abort percentage"),
        ("circuit_breaker.open_for", "circuit breaker open for"),
        ("retry.backoff.exponential.initial", "first back-off"),
        ("groups.0.open.rate", "open rate"),
        ("crash_2.when.for", "crash 2 for"),
        ("parameters.test", "test"),
    ],
)
def test_a_factors_path_becomes_words(name: str, title: str) -> None:
    assert factor_title(name) == title


@pytest.mark.parametrize(
    ("level", "unit", "value"),
    [
        ("20ms", Unit.DURATION, 0.02),
        ("1.5s", Unit.DURATION, 1.5),
        ("2m", Unit.DURATION, 120),
        ("250us", Unit.DURATION, 0.00025),
        ("2m", Unit.TEXT, None),
        (7, Unit.COUNT, 7),
        (True, Unit.TEXT, None),
        ("retry", Unit.TEXT, None),
        (None, Unit.DURATION, None),
    ],
)
def test_a_level_is_a_number_or_a_duration_as_its_unit_says_or_neither(
    level: object, unit: Unit, value: float | None
) -> None:
    found = numeric(level, unit)
    assert found == pytest.approx(value) if value is not None else found is None


def test_levels_of_any_kind_are_written_down() -> None:
    assert [level_text(level) for level in ("20ms", 0.5, 40, {"fixed": "1s"})] == [
        "20 ms",
        "0.5",
        "40",
        '{"fixed": "1s"}',
    ]


@given(st.floats(1e-3, 1e9))
def test_a_number_keeps_three_digits(value: float) -> None:
    assert float(number(value).replace(",", "")) == pytest.approx(value, rel=0.006)


@pytest.mark.parametrize(
    ("levels", "unit", "held"),
    [
        (("none", 30), Unit.COUNT, ["none", "30"]),
        (("none", "20ms"), Unit.DURATION, ["none", "20ms"]),
        ((None, 30), Unit.COUNT, [None, 30]),
        (("0ms", "20ms"), Unit.DURATION, [0.0, 0.02]),
        (("one", "two"), Unit.TEXT, ["one", "two"]),
    ],
)
def test_a_table_holds_levels_as_texts_where_words_stand_among_numbers(
    levels: tuple[str | int | None, ...], unit: Unit, held: list[object]
) -> None:
    factors = {"limit": Factor("limit", ("system", "settings", "limit"), levels, Role.PATTERN, unit)}
    assert [in_table({"limit": level}, factors)["limit"] for level in levels] == held
