"""The rounds that are kept next to pages are those whose hashes were noted: damage is said, and nothing is read."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from reproductions import kept_tables

from patternbench.terms.problems import InputError

DOCS = Path(__file__).parents[3] / "docs"


def test_every_table_next_to_a_page_has_the_hash_that_is_noted_of_it() -> None:
    folders = sorted({file.parent for file in DOCS.rglob("*.parquet")})
    assert folders
    problems = [f"{one.file} {one.message}" for folder in folders for one in kept_tables.changed(folder)]
    assert not problems, "cd into the folder, and type: sha256sum *.parquet > kept.sha256"


def test_kept_rounds_of_which_a_bit_was_turned_over_are_refused_with_what_to_type(tmp_path: Path) -> None:
    kept_tables.keep({"rounds": pd.DataFrame({"p95": [0.1, 0.2]})}, tmp_path)
    assert kept_tables.read(tmp_path)["rounds"]["p95"].tolist() == [0.1, 0.2]
    file = tmp_path / "rounds.parquet"
    content = bytearray(file.read_bytes())
    content[len(content) // 3] ^= 1
    file.write_bytes(content)
    with pytest.raises(InputError, match=r"rounds\.parquet: isn't the table that was kept; type `git checkout"):
        kept_tables.read(tmp_path)


def test_kept_rounds_that_are_missing_or_were_never_noted_are_refused(tmp_path: Path) -> None:
    kept_tables.keep({"one": pd.DataFrame({"p95": [0.1]})}, tmp_path)
    (tmp_path / "one.parquet").rename(tmp_path / "two.parquet")
    with pytest.raises(InputError) as refused:
        kept_tables.read(tmp_path)
    assert [problem.message for problem in refused.value.problems] == ["is missing", "has no hash in kept.sha256"]


def test_a_table_that_no_run_brought_anew_stays_byte_for_byte_with_what_its_file_says_of_its_columns(
    tmp_path: Path,
) -> None:
    file = tmp_path / "old.parquet"
    said = pa.Table.from_pandas(pd.DataFrame({"pause": [0.02]}), preserve_index=False)
    pq.write_table(said.replace_schema_metadata({**said.schema.metadata, b"patternbench.factors": b"{}"}), file)
    before = file.read_bytes()
    kept_tables.keep({"old": pd.read_parquet(file), "new": pd.DataFrame({"p95": [0.1]})}, tmp_path)
    assert file.read_bytes() == before
    kept_tables.keep({"old": pd.DataFrame({"pause": [0.03]})}, tmp_path)
    assert kept_tables.read(tmp_path)["old"]["pause"].tolist() == [0.03]
