"""The page on ResilienceBench says what its rounds say."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

PAGE = Path(__file__).parents[3] / "docs" / "reproductions" / "aderaldo-2024.md"


@pytest.fixture(scope="module")
def verdicts() -> ModuleType:
    """The script beside the page, whose neighbour it imports by its bare name."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(PAGE.parent))
        patch.syspath_prepend(str(PAGE.with_suffix("")))
        patch.delitem(sys.modules, "tables", raising=False)
        found = importlib.import_module("verdicts")
        patch.delitem(sys.modules, "verdicts")
        patch.delitem(sys.modules, "tables")
        return found


def part(name: str) -> str:
    return PAGE.read_text().split(f"<!-- {name} -->\n")[1].split(f"\n<!-- end of {name} -->")[0]


def test_the_verdicts_of_the_page_are_those_that_the_script_prints(verdicts: ModuleType) -> None:
    assert part("verdicts") == verdicts.printed(verdicts.rounds_of([]))


def test_the_tables_of_the_page_are_those_that_the_script_prints(verdicts: ModuleType) -> None:
    printed = verdicts.rounds_of.__globals__["printed"]
    assert part("tables") == printed(verdicts.rounds_of([]))


def test_the_figures_of_the_page_are_those_that_the_script_draws(tmp_path: Path) -> None:
    script = PAGE.with_suffix("") / "figures.py"
    subprocess.run([sys.executable, str(script), "--to", str(tmp_path)], check=True, timeout=120)
    for drawn in tmp_path.iterdir():
        assert drawn.read_bytes() == (script.parent / drawn.name).read_bytes()
    assert len(list(tmp_path.iterdir())) == 2
