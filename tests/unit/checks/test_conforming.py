"""A value that is not as its schema says is refused, and a schema that is none."""

from __future__ import annotations

import pytest
from jsonschema import SchemaError, ValidationError
from tests.support.schemas import conforms, of_studies

COUNT = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


@pytest.mark.parametrize("times", [1, 2])
def test_a_value_is_refused_the_first_time_and_the_second_time(times: int) -> None:
    for _ in range(times):
        conforms({"n": 1}, COUNT)
        with pytest.raises(ValidationError, match="'one' is not of type 'integer'"):
            conforms({"n": "one"}, COUNT)


def test_a_schema_that_is_none_is_refused() -> None:
    with pytest.raises(SchemaError):
        conforms({}, {"type": "nonsense"})


def test_a_study_without_a_load_is_not_as_its_schema_says() -> None:
    with pytest.raises(ValidationError, match="'workload' is a required property"):
        conforms({"patternbench": 1, "name": "x", "system": "target"}, of_studies())
