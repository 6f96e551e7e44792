"""A random property that failed can be repeated."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PROPERTY = """
from hypothesis import given, strategies

@given(strategies.integers(), strategies.lists(strategies.integers()))
def test_fails_somewhere(number, more):
    assert number < 1000 or len(more) < 3
"""


def test_a_property_that_fails_prints_what_repeats_it_and_keeps_it_for_the_next_run(tmp_path: Path) -> None:
    test = tmp_path / "test_property.py"
    test.write_text(PROPERTY)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.conftest", "-c", "/dev/null", f"--rootdir={tmp_path}"]
    done = subprocess.run(
        [*command, str(test)], capture_output=True, text=True, check=False, cwd=tmp_path, env={"PYTHONPATH": str(ROOT)}
    )
    assert done.returncode == 1
    assert "@reproduce_failure(" in done.stdout
    assert list((tmp_path / ".hypothesis" / "examples").rglob("*"))
