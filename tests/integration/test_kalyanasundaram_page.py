"""The tables of the page on distributed rate limiting are those that the script beside it makes."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path
from types import ModuleType

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "reproductions" / "kalyanasundaram-2025.md"

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(shutil.which("luajit") is None, reason="needs luajit2 and lua-cjson"),
]


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("kalyanasundaram_tables", PAGE.with_suffix("") / "tables.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_tables_of_the_page_are_made_from_the_rounds_beside_it(script: ModuleType) -> None:
    rounds, leases = (script.pd.read_parquet(path) for path in (script.ROUNDS, script.LEASES))
    text = PAGE.read_text(encoding="utf-8")
    assert text[text.index(script.MARK) + len(script.MARK) + 1 :] == "\n".join(script.made(rounds, leases))
