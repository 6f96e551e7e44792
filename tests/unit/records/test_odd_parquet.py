"""Parquet files that hold what no analysis can read are refused in a sentence."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from patternbench.cli.shared import factors
from patternbench.records.tables import TableError, factors_of, read_table, units_of


def written(path: Path, columns: dict[str, object], metadata: dict[bytes, bytes] | None = None) -> Path:
    pq.write_table(pa.table(columns).replace_schema_metadata(metadata), path)
    return path


@pytest.mark.parametrize("cell", [[1.0], {"a": 1}], ids=["list", "struct"])
def test_a_column_of_several_values_a_cell_is_named(cell: object, tmp_path: Path) -> None:
    with pytest.raises(TableError, match="column x holds several values"):
        read_table(written(tmp_path / "a.parquet", {"x": [cell], "p95": [1.0]}))


def test_two_columns_of_one_name_are_named(tmp_path: Path) -> None:
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["users", "users"])
    pq.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(TableError, match="several columns called users"):
        read_table(tmp_path / "a.parquet")


@pytest.mark.parametrize("notes", [b"{", b"[1]", b"\xff"])
def test_damaged_notes_on_factors_are_reported(notes: bytes, tmp_path: Path) -> None:
    with pytest.raises(TableError, match="damaged metadata"):
        factors_of(written(tmp_path / "a.parquet", {"p95": [1.0]}, {b"patternbench.factors": notes}))


@pytest.mark.parametrize("notes", [b'[{"name": 3}]', b'[{"name": "users", "levels": 7}]'])
def test_a_factor_that_lacks_what_is_known_of_it_is_reported(notes: bytes, tmp_path: Path) -> None:
    with pytest.raises(TableError, match="noted of a factor is damaged"):
        factors(written(tmp_path / "a.parquet", {"p95": [1.0]}, {b"patternbench.factors": notes}))


@pytest.mark.parametrize("notes", [b"[]", b'{"p95": 7}', b"{"])
def test_damaged_notes_on_units_are_reported(notes: bytes, tmp_path: Path) -> None:
    with pytest.raises(TableError, match="damaged metadata"):
        units_of(written(tmp_path / "a.parquet", {"p95": [1.0]}, {b"patternbench.units": notes}))


@pytest.mark.parametrize("notes", [b"{", b'{"columns": 7}'])
def test_what_pandas_notes_does_not_decide_whether_a_table_is_read(notes: bytes, tmp_path: Path) -> None:
    table = read_table(written(tmp_path / "a.parquet", {"p95": [1.0]}, {b"pandas": notes}))
    assert table["p95"].tolist() == [1.0]


def test_an_unknown_time_zone_is_not_called_another_kind_of_file(tmp_path: Path) -> None:
    path = written(tmp_path / "a.parquet", {"x": pa.array([0], pa.timestamp("us", "Nowhere/X"))})
    with pytest.raises(TableError, match="cannot be read"):
        read_table(path)


def test_decimals_and_a_column_without_a_value_are_read_as_numbers(tmp_path: Path) -> None:
    decimals = pa.array([Decimal("1.5"), None], pa.decimal128(10, 2))
    pq.write_table(pa.table({"p95": decimals, "p50": pa.nulls(2)}), tmp_path / "t.parquet")
    read = read_table(tmp_path / "t.parquet")
    assert (read["p95"].tolist()[0], str(read["p50"].dtype)) == (1.5, "float64")


def test_a_column_of_bytes_is_named(tmp_path: Path) -> None:
    pq.write_table(pa.table({"status": pa.array([b"\xff200"]), "p95": [1.0]}), tmp_path / "t.parquet")
    with pytest.raises(TableError, match=r"column status holds bytes\. Store it as text"):
        read_table(tmp_path / "t.parquet")


def test_a_column_of_half_floats_is_one_of_numbers(tmp_path: Path) -> None:
    """A table can't be grouped by them."""
    halves = pa.array([np.float16(1.5), np.float16(3)], pa.float16())
    table = read_table(written(tmp_path / "a.parquet", {"users": halves, "p95": [1.0, 2.0]}))
    assert table.groupby("users")["p95"].mean().to_dict() == {1.5: 1.0, 3.0: 2.0}
