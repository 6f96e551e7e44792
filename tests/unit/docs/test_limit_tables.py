"""The tables of the page on rate limits say of what was not measured that it was not, and are whole otherwise."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from reproductions.kalyanasundaram_2025 import limit_rounds, shop
from reproductions.kalyanasundaram_2025 import target_tables as limits

from patternbench.records.folder import RunFolder
from patternbench.records.tables import TableError

FAR, FEW = "25ms", ("no limiter", "sliding window log", "token bucket")
"""The distance at which only few algorithms were measured."""


@pytest.fixture(scope="module")
def fewer() -> pd.DataFrame:
    """The rounds next to the page, without those far from the store of all but few algorithms."""
    rounds = shop.PAGE.kept()[limit_rounds.TARGET]
    return rounds[rounds["valid"] & ((rounds["distance"] != FAR) | rounds["algorithm"].isin(FEW))]


def cells(table: pd.DataFrame, algorithm: str) -> list[str]:
    (row,) = table[table["algorithm"] == algorithm].itertuples(index=False)
    return [str(cell) for cell in row][1:]


def test_a_deviation_at_a_distance_without_rounds_is_not_measured(fewer: pd.DataFrame) -> None:
    table = limits.by_store(fewer)
    assert all(cell.endswith(" / not measured") for cell in cells(table, "fixed window"))
    assert not any("not measured" in cell for cell in cells(table, "sliding window log"))


def test_a_lease_at_a_distance_without_rounds_is_not_measured(fewer: pd.DataFrame) -> None:
    table = limits.leases(fewer)
    assert all(cell.endswith(" / not measured") for cell in cells(table, "fixed window"))
    assert not any("not measured" in cell for cell in cells(table, "token bucket"))


def test_what_a_distance_costs_is_told_of_the_algorithms_that_were_measured_there(fewer: pd.DataFrame) -> None:
    table = limits.contrasts(fewer).set_index(["choice", "distance"])["pairs of rounds"]
    blocks = fewer["block"].nunique()
    assert table["crdt instead of redis", "0ms"] == 5 * blocks
    assert table["crdt instead of redis", FAR] == 2 * blocks


def test_rounds_near_the_store_fill_table_v_whatever_was_measured_elsewhere(fewer: pd.DataFrame) -> None:
    whole = shop.PAGE.kept()[limit_rounds.TARGET]
    pd.testing.assert_frame_equal(limits.latencies(fewer), limits.latencies(whole[whole["valid"]]))


def test_a_store_without_rounds_is_not_measured(fewer: pd.DataFrame) -> None:
    one = fewer[fewer["store"].isin(("redis", "-"))]
    assert cells(limits.latencies(one), "gcra")[0] == "not measured [1.07]"
    assert cells(limits.by_store(one), "gcra")[0] == "not measured / not measured"


def test_figures_of_a_run_that_drew_fewer_are_not_taken_for_others(tmp_path: Path) -> None:
    (tmp_path / "figures").mkdir()
    (tmp_path / "figures" / "rate-limiting-1.svg").write_text("<svg/>")
    with pytest.raises(TableError, match="1 figures of rate limits instead of 7"):
        limit_rounds.on_target(RunFolder(tmp_path))
