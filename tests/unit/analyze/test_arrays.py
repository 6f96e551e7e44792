"""Which columns no arithmetic of squares can hold: just within the bounds, just beyond, and where there is nothing."""

from __future__ import annotations

import numpy as np
import pytest

from patternbench.analyze.arrays import out_of_scale


@pytest.mark.parametrize("within", [0.0, 1e-100, 1e-3, 1.0, 1e100])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_column_up_to_a_bound_is_taken(within: float, sign: int) -> None:
    assert out_of_scale(np.array([[0.0], [sign * within]]), ["p95"]) == []


@pytest.mark.parametrize(("beyond", "reported"), [(1.1e100, "1e+100"), (1e300, "1e+300"), (9e-101, "9e-101")])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_column_beyond_a_bound_is_named_with_its_largest_number(beyond: float, sign: int, reported: str) -> None:
    (problem,) = out_of_scale(np.array([[0.0], [sign * beyond]]), ["p95"])
    assert problem.what == f"p95 reaches {reported}, whose square no number can hold."
    assert problem.remedy == "Change its unit."


def test_of_several_columns_each_that_is_wrong_is_named_by_its_own_name() -> None:
    rows = np.array([[1.0, 1e200, 3.0, 1e-200], [1e-200, 2.0, 4.0, -1e-201], [1.0, 1.0, 1.0, 0.0]])
    reported = [problem.what.partition(" ")[0] for problem in out_of_scale(rows, ["a", "b", "c", "d"])]
    assert reported == ["b", "d"]


def test_columns_without_a_row_are_of_no_scale() -> None:
    assert out_of_scale(np.empty((0, 2)), ["a", "b"]) == []
