"""Tables that analyses read from a run's folder: the rounds that count, and how many do not."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from patternbench.records import tables
from patternbench.records.tables import TableError, read_table


def run(folder: Path, valid: list[bool]) -> Path:
    rounds = pd.DataFrame({"round": range(len(valid)), "status": "done", "valid": valid, "p50": 1.0})
    rounds.to_parquet(folder / "rounds.parquet")
    return folder


def test_rounds_that_are_not_valid_are_left_out_and_counted(tmp_path: Path) -> None:
    table = tables.read(run(tmp_path, [True, False, True]))
    assert list(table.rows["round"]) == [0, 2]
    assert table.left_out == 1


def test_a_run_without_a_valid_round_says_so(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="no valid round"):
        read_table(run(tmp_path, [False, False]))


def text(folder: Path, content: str, name: str = "table.csv") -> Path:
    path = folder / name
    path.write_text(content, encoding="utf-8")
    return path


def test_a_trailing_comma_is_an_error_and_shifts_no_column(tmp_path: Path) -> None:
    path = text(tmp_path, "users,strategy,p95\n10,retry,0.1,\n20,retry,0.2,\n")
    with pytest.raises(TableError, match="line 2: has 4 cells, the header has 3") as raised:
        read_table(path)
    assert "line 3" in str(raised.value)


def test_a_row_that_is_too_short_is_an_error_too(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="line 3: has 1 cells, the header has 2"):
        read_table(text(tmp_path, "a,b\n1,2\n3\n"))


def test_a_trailing_comma_in_the_header_too_is_a_column_without_a_name(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="column without a name"):
        read_table(text(tmp_path, "a,b,\n1,2,\n"))


def test_a_number_sign_in_a_cell_is_text(tmp_path: Path) -> None:
    table = read_table(text(tmp_path, 'label,elapsed\n#1 Login,10\n"#2, Buy",20\n#1 Login#,30\n'))
    assert table["label"].tolist() == ["#1 Login", "#2, Buy", "#1 Login#"]
    assert table["elapsed"].tolist() == [10, 20, 30]


@pytest.mark.parametrize("sign", [";", "\t", ","])
def test_the_separator_is_that_of_the_header_line(tmp_path: Path, sign: str) -> None:
    table = read_table(text(tmp_path, f"users{sign}p95\n10{sign}0.5\n20{sign}0.75\n"))
    assert table.to_dict("list") == {"users": [10, 20], "p95": [0.5, 0.75]}


def test_duplicate_headers_are_refused_and_never_renamed(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="several columns called p95"):
        read_table(text(tmp_path, "users,p95, p95\n1,2,3\n"))


def test_all_that_is_wrong_with_a_table_is_said_at_once(tmp_path: Path) -> None:
    with pytest.raises(TableError) as raised:
        read_table(text(tmp_path, "a,a,\n1,2,3,4\n"))
    assert len(str(raised.value).splitlines()) == 3


def test_a_byte_order_mark_is_no_part_of_the_first_name(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(b"\xef\xbb\xbfusers,p95\r\n10,0.5\r\n")
    assert list(read_table(path).columns) == ["users", "p95"]


def test_a_text_that_is_not_utf_8_is_refused_in_words(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(b"a,b\n\xff\xfe,1\n")
    with pytest.raises(TableError, match="not a text table in UTF-8"):
        read_table(path)


def test_a_table_of_rounds_carries_what_is_known_of_its_factors(tmp_path: Path) -> None:
    rows = [{"name": "users", "path": ["users"], "role": "load", "unit": "count", "none": None, "levels": [1, 2]}]
    table = pd.DataFrame({"users": [1, 2], "p95": [0.1, 0.2]})
    tables.write_rounds(table, rows, tmp_path / "rounds.parquet")
    assert tables.factors_of(tmp_path) == tables.factors_of(tmp_path / "rounds.parquet") == rows
    pd.testing.assert_frame_equal(read_table(tmp_path), table)


def test_of_a_table_that_no_run_wrote_nothing_is_known(tmp_path: Path) -> None:
    table = pd.DataFrame({"users": [1, 2]})
    table.to_parquet(tmp_path / "a.parquet")
    table.to_csv(tmp_path / "a.csv")
    assert tables.factors_of(tmp_path / "a.parquet") == tables.factors_of(tmp_path / "a.csv") == []


def test_rows_without_a_level_are_counted_once_for_every_verb_that_reads_the_table(tmp_path: Path) -> None:
    rows = "".join(f"{name},{users},0.5\n" for name in ("retry", "", "breaker", "") for users in (1, 2))
    (message,) = tables.read(text(tmp_path, f"strategy,users,p95\n{rows}")).notes
    assert message.startswith(
        "4 of 8 rows have no strategy (row 3, 4, 7, ...); where it is a factor, they are scenarios"
    )


def test_a_level_that_does_not_apply_to_another_columns_levels_is_no_gap(tmp_path: Path) -> None:
    rows = "base,,0.1\nretry,3,0.1\nbase,,0.2\nretry,3,0.2\n"
    assert not tables.read(text(tmp_path, f"strategy,attempts,p95\n{rows}")).notes


def test_a_row_without_a_response_is_counted_too(tmp_path: Path) -> None:
    (message,) = tables.read(text(tmp_path, "users,p95\n1,0.1\n1,\n2,0.2\n2,0.3\n")).notes
    assert message == "1 of 4 rows has no p95 (row 2); such a row counts for its other responses alone"


@pytest.mark.parametrize("end", [".csv", ".parquet"])
def test_a_table_on_its_side_is_refused_before_each_column_is_looked_through(tmp_path: Path, end: str) -> None:
    wide = pd.DataFrame({f"c{number}": [1] for number in range(2001)})
    path = tmp_path / f"wide{end}"
    wide.to_csv(path, index=False) if end == ".csv" else wide.to_parquet(path)
    with pytest.raises(TableError, match="has 2,001 columns; at most 2,000 are read"):
        read_table(path)


def test_a_parquet_file_is_read_in_blocks_with_the_same_rows(tmp_path: Path) -> None:
    frame = pd.DataFrame({" users ": [1, 2, None], "strategy": ["a", None, "b"], "none": [None, None, None]})
    frame.to_parquet(tmp_path / "table.parquet")
    table = tables.read_in_blocks(tmp_path / "table.parquet")
    assert isinstance(table, tables.StoredTable)
    assert table.columns == ["users", "strategy", "none"]
    blocks = pd.concat(list(table.blocks(["strategy", "users", "none"])))
    whole = tables.read_table(tmp_path / "table.parquet")
    pd.testing.assert_frame_equal(blocks, whole[["strategy", "users", "none"]])


def test_a_damaged_file_that_is_read_in_blocks_is_refused(tmp_path: Path) -> None:
    (tmp_path / "table.parquet").write_bytes(b"PAR1 and nothing else")
    with pytest.raises(tables.TableError, match="cannot be read"):
        tables.read_in_blocks(tmp_path / "table.parquet")
