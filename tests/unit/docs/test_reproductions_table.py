"""The table of what is reproduced names studies that exist, rounds that open, and claims that are data."""

from __future__ import annotations

import re

import pandas as pd
import pytest
from reproductions.__main__ import PAGES
from tests.support.studies import ROOT

from patternbench.study.load import load

PAGE = ROOT / "docs" / "reproductions" / "README.md"
TEXT = PAGE.read_text(encoding="utf-8")
STATES = ("measured", "to be measured", "in part", "printed", "not possible", "illustration")
ROWS = [
    tuple(cell.strip() for cell in line.strip("|").split("|"))
    for section in TEXT.split("\n## ")[1:]
    for line in section.splitlines()
    if line.startswith("| ") and not line.startswith("| part")
]
STUDY = re.compile(r"\.\./\.\./studies/([\w-]+)\.yaml")


def test_there_are_rows_of_all_five_papers() -> None:
    assert len(TEXT.split("\n## ")) == 1 + 5
    assert len(ROWS) > 70


@pytest.mark.parametrize("row", ROWS, ids=lambda row: str(row[0])[:60])
def test_a_row_has_a_state_and_says_what_makes_it_or_why_nothing_does(row: tuple[str, str, str]) -> None:
    _, state, made_by = row
    assert state in STATES
    if state in ("measured", "to be measured"):
        names = [name.strip("`") for name in re.findall(r"`[a-z0-9-]+`", made_by)]
        assert STUDY.search(made_by) or "patternbench up " in made_by or set(names) & set(PAGES), made_by
    if state in ("in part", "not possible"):
        assert len(made_by) > 20, "it says what is missing, or why"


def test_every_study_that_is_named_can_be_read() -> None:
    names = sorted(set(STUDY.findall(TEXT)))
    assert len(names) > 20
    assert [load(ROOT / "studies" / f"{name}.yaml").name for name in names] == names


def test_every_file_of_rounds_that_is_named_opens() -> None:
    files = re.findall(r"\(([\w/-]+\.parquet)\)", TEXT)
    assert len(files) > 10
    assert all(len(pd.read_parquet(PAGE.parent / file)) for file in files)


def test_rows_on_claims_name_studies_that_state_claims() -> None:
    named = [name for part, _, made_by in ROWS if part.startswith("claim") for name in STUDY.findall(made_by)]
    assert {"published-pair", "insurance-bundling"} <= set(named)
    without = [name for name in set(named) if not load(ROOT / "studies" / f"{name}.yaml").claims]
    assert without == []
