"""State that grows over a run's rounds is a warning with a remedy: in rounds.parquet, the report and the terminal."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from patternbench.records.journal import DONE, Entry
from patternbench.report.grown_state import marked, sentences, size

BLOCKS = 6
BEFORE = json.dumps([{"kind": "few_calls", "message": "few", "remedy": "more", "invalidates": False}])


def entry(block: int, stored: dict[str, int]) -> Entry:
    return Entry(block, block, "a", DONE, f"{block:05d}", 0.0, 1.0, stored_bytes=stored)


def table(**columns: list[float]) -> pd.DataFrame:
    places = {"round": range(BLOCKS), "block": range(BLOCKS), "scenario": ["a"] * BLOCKS}
    return pd.DataFrame({**places, "warnings": [None] * (BLOCKS - 1) + [BEFORE], **columns})


def test_files_of_a_component_that_grow_from_round_to_round_are_a_warning_at_the_last_rounds() -> None:
    entries = [entry(block, {"db": 1_000_000 * (block + 1), "web": 5000}) for block in range(BLOCKS)]
    rounds = marked(table(), entries)
    assert list(rounds["warnings"][:-1]) == [None] * (BLOCKS - 1)
    (first, reported) = json.loads(rounds["warnings"].iloc[-1])
    assert (first["kind"], reported["kind"], reported["invalidates"]) == ("few_calls", "state_grows", False)
    assert reported["message"].startswith("files of db grew from 1.41 MB to 5.48 MB over 6 blocks of rounds, so later")
    assert "`db`" in reported["remedy"]
    assert "reset: restart" in reported["remedy"]
    assert sentences(rounds) == [f"{reported['message']}; {reported['remedy']}"]


def test_calls_of_a_database_that_grow_with_what_earlier_rounds_stored_are_a_warning() -> None:
    """An embedded database has no files: its service asks it more and more."""
    rounds = marked(table(database_calls=[8, 20, 38, 54, 62, 70]), [entry(block, {}) for block in range(BLOCKS)])
    (sentence,) = sentences(rounds)
    assert sentence.startswith("calls of databases per request grew from ")
    assert "over 6 blocks of rounds" in sentence


def test_rounds_that_do_not_count_and_journals_of_before_are_no_growth() -> None:
    entries = [Entry(block, block, "a", "failed", f"{block:05d}", 0.0, 1.0) for block in range(BLOCKS)]
    assert sentences(marked(table(database_calls=[1, 2, 3, 4, 5, 6]), entries)) == []
    assert sentences(marked(table(), [entry(block, {}) for block in range(BLOCKS)])) == []


@pytest.mark.parametrize(("count", "shown"), [(5, "5 bytes"), (1234, "1.23 kB"), (4_560_000, "4.56 MB")])
def test_sizes_are_shown_in_a_unit_that_a_reader_can_take_in(count: float, shown: str) -> None:
    assert size(count) == shown
