"""Tables that analyses read from a run's folder: the rounds that count, and how many do not."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from patternbench.records.tables import TableError, read_table


def run(folder: Path, valid: list[bool]) -> Path:
    rounds = pd.DataFrame({"round": range(len(valid)), "status": "done", "valid": valid, "p50": 1.0})
    rounds.to_parquet(folder / "rounds.parquet")
    return folder


def test_rounds_that_are_not_valid_are_left_out_and_counted(tmp_path: Path) -> None:
    table = read_table(run(tmp_path, [True, False, True]))
    assert list(table["round"]) == [0, 2]
    assert table.attrs["not_valid"] == 1


def test_a_run_without_a_valid_round_says_so(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="no valid round"):
        read_table(run(tmp_path, [False, False]))
