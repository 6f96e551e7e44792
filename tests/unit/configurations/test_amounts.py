"""How products write amounts, in both directions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patternbench.configurations import amounts
from patternbench.configurations.amounts import Level, Notation, Plain
from patternbench.terms.units import LONGEST_US, Duration

TIMES = {
    "ISO_MS": 1000,
    "ISO_US": 1,
    "SPRING_MS": 1000,
    "SPRING_US": 1,
    "TIME_SPAN": 1,
    "TIME_SPAN_MS": 1000,
    "PROTOBUF": 1,
    "PROTOBUF_MS": 1000,
    "KUBERNETES": 1000,
    "NGINX": 1000,
    "WHOLE_SECONDS": 1_000_000,
}
"""The notations of times, with the finest time that each can say, in microseconds."""


def notation(name: str) -> Notation:
    found: Notation = vars(amounts)[name]
    return found


@pytest.mark.parametrize(("name", "finest"), TIMES.items())
@given(count=st.integers(0, LONGEST_US // 1_000_000))
def test_a_time_that_a_notation_can_say_reads_back_as_itself(name: str, finest: int, count: int) -> None:
    assert notation(name).keeps(Duration(count * finest))


@pytest.mark.parametrize(("name", "finest"), [(name, finest) for name, finest in TIMES.items() if finest > 1])
def test_a_finer_time_is_cut_and_not_called_exact(name: str, finest: int) -> None:
    assert not notation(name).keeps(Duration(3 * finest + 1))
    assert notation(name).read(notation(name).write(Duration(3 * finest + 1))) == Duration(3 * finest)


@pytest.mark.parametrize("name", ["SHARE_OF_PERCENT", "PERCENT", "NUMBER"])
@given(tenths=st.integers(1, 1000))
def test_a_share_reads_back_as_the_percentage_that_it_was(name: str, tenths: int) -> None:
    level = tenths / 10
    assert notation(name).keeps(int(level) if level.is_integer() else level)


@pytest.mark.parametrize(
    ("name", "written", "level"),
    [
        ("SPRING_MS", "500", Duration.parse("500ms")),
        ("SPRING_MS", "2s", Duration.parse("2s")),
        ("SPRING_MS", "PT1M30S", Duration.parse("90s")),
        ("SPRING_MS", "pt0.25s", Duration.parse("250ms")),
        ("ISO_MS", "100ms", Duration.parse("100ms")),
        ("TIME_SPAN", "00:00:02", Duration.parse("2s")),
        ("TIME_SPAN", "1.00:00:00", Duration.parse("24h")),
        ("TIME_SPAN", "1", Duration.parse("24h")),
        ("TIME_SPAN", "00:00:00.2500000", Duration.parse("250ms")),
        ("PROTOBUF", "0.025s", Duration.parse("25ms")),
        ("KUBERNETES", "1m30s", Duration.parse("90s")),
        ("NGINX", "60", Duration.parse("60s")),
        ("NGINX", "1m 30s", Duration.parse("90s")),
        ("FURTHER", 2, 3),
        ("SHARE_OF_PERCENT", 0.1, 10),
        ("FLAG", "True", True),
    ],
)
def test_what_a_product_reads_is_read_so(name: str, written: Plain, level: Level) -> None:
    assert notation(name).read(written) == level


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("SPRING_MS", "soon"),
        ("SPRING_MS", "P"),
        ("TIME_SPAN", "2s"),
        ("PROTOBUF", "25ms"),
        ("KUBERNETES", "0.5"),
        ("NGINX", "1y"),
        ("COUNT", 1.5),
        ("COUNT", True),
        ("FLAG", "yes"),
        ("NUMBER", False),
    ],
)
def test_what_a_product_refuses_is_refused(name: str, written: Plain) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        notation(name).read(written)


@pytest.mark.parametrize(("name", "level"), [("NGINX", 3), ("COUNT", Duration(1)), ("PERCENT", True)])
def test_a_level_of_another_kind_is_a_mistake_of_the_form(name: str, level: Level) -> None:
    with pytest.raises(TypeError):
        notation(name).write(level)
