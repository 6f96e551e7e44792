"""Which columns of a text table are numbers: those that lose nothing by it."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from patternbench.records import tables
from patternbench.records.tables import read_table


def column(folder: Path, cells: list[str], name: str = "level") -> pd.Series:
    """A column of a CSV file with these cells."""
    path = folder / "table.csv"
    path.write_text("\n".join([f"{name},other", *(f"{cell},x" for cell in cells)]) + "\n", encoding="utf-8")
    return read_table(path)[name]


@pytest.mark.parametrize(
    "levels",
    [
        ["1.1", "1.10"],
        ["1.2", "1.10"],
        ["007", "7"],
        ["007", "008"],
        ["1e1", "10"],
        ["True", "true"],
        ["none", "None"],
        ["NA", "retry"],
        ["null", "nan"],
        ["n/a", "inf", "Infinity"],
        ["3", "None"],
        ["0x10", "16"],
        ["1_000", "1000"],
        ["9007199254740993.0", "9007199254740992.0"],
        ["18446744073709551616", "18446744073709551617"],
        ["7", "7" * 5000],
    ],
)
def test_levels_that_are_written_differently_stay_different(tmp_path: Path, levels: list[str]) -> None:
    assert column(tmp_path, levels).tolist() == levels


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["10", "20"], [10, 20]),
        (["10.0", "0.25", "1e-05"], [10.0, 0.25, 1e-05]),
        (["1.10", "1.20", "1.25"], [1.1, 1.2, 1.25]),
        (["-1", "0", "+2.5"], [-1.0, 0.0, 2.5]),
        (["10 ", " 20"], [10, 20]),
    ],
)
def test_a_column_of_numbers_stays_one_of_numbers(tmp_path: Path, cells: list[str], values: list[float]) -> None:
    assert column(tmp_path, cells).tolist() == values


def test_a_response_is_numbers_however_they_are_written(tmp_path: Path) -> None:
    read = column(tmp_path, ["0.1", "0.10", "1e-1", "None"], "p95")
    assert read.dropna().tolist() == [0.1, 0.1, 0.1]
    assert read.isna().tolist() == [False, False, False, True]


def test_a_missing_number_is_said_and_so_are_numbers_that_are_names(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("size,version\n1,1.1\nNA,1.10\n3,1.1\n")
    message = " ".join(tables.read(path).notes)
    assert "size has no number in 1 cells (NA)" in message
    assert "version is read as names, not as numbers" in message


def test_levels_that_print_alike_are_one_level(tmp_path: Path) -> None:
    assert set(column(tmp_path, ["a ", " a", "a"])) == {"a"}
    assert set(column(tmp_path, ["caf\u00e9", "cafe\u0301"])) == {"caf\u00e9"}


def test_an_empty_cell_is_no_level(tmp_path: Path) -> None:
    assert column(tmp_path, ["retry", ""]).isna().tolist() == [False, True]


@pytest.mark.parametrize("digits", [["123456789012345678901234567890", "5"], ["", ""]])
def test_a_response_of_huge_numbers_or_of_none_is_still_one_of_numbers(tmp_path: Path, digits: list[str]) -> None:
    assert str(column(tmp_path, digits, "p95").dtype) == "float64"
