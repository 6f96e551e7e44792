"""The tables of the page on distributed rate limiting are those that the script beside it makes."""

from __future__ import annotations

import shutil

import pandas as pd
import pytest
from tests.support.scripts import page_script

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(shutil.which("luajit") is None, reason="needs luajit2 and lua-cjson"),
]


def test_the_tables_of_the_page_are_made_from_the_rounds_beside_it() -> None:
    script = page_script("kalyanasundaram-2025/tables.py")
    rounds, leases = (pd.read_parquet(path) for path in (script.ROUNDS, script.LEASES))
    text = script.PAGE.read_text(encoding="utf-8")
    assert text[text.index(script.MARK) + len(script.MARK) + 1 :] == "\n".join(script.made(rounds, leases))
