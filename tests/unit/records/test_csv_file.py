"""CSV files that a spreadsheet shows, and never runs."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from patternbench.records import csv_file

FORMULAS = ["=1+1", "+1+1", "-2+3+cmd|' /C calc'!A0", "@SUM(A1)", "\tx", "\r=x", "-x"]


@pytest.mark.parametrize("cell", FORMULAS)
def test_a_text_cell_that_a_spreadsheet_would_run_gets_an_apostrophe(cell: str, tmp_path: Path) -> None:
    csv_file.write(pd.DataFrame({"level": [cell, "plain"], cell: ["a", None]}), tmp_path / "x.csv")
    read = pd.read_csv(tmp_path / "x.csv", lineterminator="\n")
    assert read["level"].tolist() == [f"'{cell}", "plain"]
    assert read.columns.tolist() == ["level", f"'{cell}"]


def test_numbers_and_quantities_stay_as_they_are(tmp_path: Path) -> None:
    table = pd.DataFrame(
        {"number": [-1.5, 2], "text": ["-12.5 %", "+3 ms"], "mixed": [-1, "-1e-6"], "flag": [True, False]}
    )
    csv_file.write(table, tmp_path / "x.csv")
    assert (tmp_path / "x.csv").read_text() == "number,text,mixed,flag\n-1.5,-12.5 %,-1,True\n2.0,+3 ms,-1e-6,False\n"
