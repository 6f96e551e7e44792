"""The page on ResilienceBench says what its rounds say, in words whose error rate is known."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

PAGE = Path(__file__).parents[3] / "docs" / "reproductions" / "aderaldo-2024.md"
BLOCKS, RUNS = 10, 600


@pytest.fixture(scope="module")
def verdicts() -> ModuleType:
    """The script beside the page, whose neighbour it imports by its bare name."""
    with pytest.MonkeyPatch.context() as patch:
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


@pytest.mark.parametrize("says", ["lower", "higher"])
def test_a_claim_about_nothing_is_decided_in_at_most_five_of_a_hundred_runs(verdicts: ModuleType, says: str) -> None:
    assert decided(verdicts, says, true=1.0, count=12) <= 0.07


def test_clients_that_differ_by_the_margin_agree_in_at_most_five_of_a_hundred_runs(verdicts: ModuleType) -> None:
    assert decided(verdicts, "the same", true=1.2, count=12) <= 0.07


def test_equal_clients_agree_when_the_spread_is_small(verdicts: ModuleType) -> None:
    assert decided(verdicts, "the same", true=1.0, count=2, spread=0.05) >= 0.95


def test_what_nothing_decides_cannot_be_told(verdicts: ModuleType) -> None:
    wide = verdicts.Contrast(-31, -54, 2)
    assert verdicts.verdict("the same", [wide]) == verdicts.verdict("lower", [wide]) == "cannot be told"


def test_one_interval_on_the_other_side_is_never_confirmed(verdicts: ModuleType) -> None:
    lower, higher = verdicts.Contrast(-30, -40, -20), verdicts.Contrast(30, 20, 40)
    assert verdicts.verdict("lower", [lower, lower]) == "confirmed"
    assert verdicts.verdict("lower", [lower, higher]) == "mixed"
    assert verdicts.verdict("lower", [higher, higher]) == "contradicted"
    assert verdicts.verdict("lower", [higher, verdicts.Contrast(3, -9, 17)]) == "contradicted in part"


def decided(verdicts: ModuleType, says: str, true: float, count: int, spread: float = 0.08) -> float:
    """How often a claim about `count` equal ratios gets another word than that it cannot be told."""
    rng, found = np.random.default_rng(count), 0
    for _ in range(RUNS):
        ends = rng.normal(0, spread, (count, 2, BLOCKS)) + np.array([[0.0], [np.log(true)]])
        claim = verdicts.Claim("", says, [(a, b) for a, b in ends])
        found += verdicts.verdict(says, verdicts.contrasts(claim)) != "cannot be told"
    return found / RUNS
