"""A user without a home, as a bare number in a container is, gets a report."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from patternbench.report.charts import some_home

HOMELESS = """
import os, pathlib
def homeless(cls): raise RuntimeError("Could not determine home directory.")
real, pathlib.Path.home = pathlib.Path.home, classmethod(lambda cls: real() if "HOME" in os.environ else homeless(cls))
from patternbench.report import build
print("HOME" in os.environ)
"""


def test_all_that_draws_is_loaded_without_a_home_and_leaves_the_environment_as_it_was() -> None:
    env = {name: value for name, value in os.environ.items() if name not in ("HOME", "XDG_CACHE_HOME")}
    done = subprocess.run([sys.executable, "-c", HOMELESS], env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "False\n"), done.stderr


def test_the_home_of_a_user_who_has_one_stays(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    with some_home():
        assert os.environ["HOME"] == str(tmp_path)
    assert os.environ["HOME"] == str(tmp_path)
