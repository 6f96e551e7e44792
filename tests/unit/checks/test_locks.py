"""What is tested is what is shipped: both lock files hold a package in one version."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]


def pins(name: str) -> dict[str, str]:
    """The version of each package in a lock file."""
    return dict(re.findall(r"^([\w.-]+)==([^ \\]+)", (ROOT / name).read_text(encoding="utf-8"), re.M))


def test_tests_run_with_the_versions_that_are_shipped() -> None:
    shipped, tested = pins("requirements.lock"), pins("requirements-dev.lock")
    assert len(shipped) > 20
    assert {name: tested.get(name) for name in shipped if tested.get(name, shipped[name]) != shipped[name]} == {}
