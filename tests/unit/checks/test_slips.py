"""Slips are drawn by a seed, leave code that can be read, and are tried with the tests that import their module."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from scripts.checks import slips

CODE = """\
def told(a: int | None, b: int) -> bool:
    \"\"\"Tell.\"\"\"
    note(a, b)
    return not a < 3 and max(a, b) + 1 == b
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, text in {
        "src/patternbench/plan/near.py": CODE,
        "src/patternbench/plan/far.py": "from patternbench.plan.near import told",
        "tests/unit/plan/test_far.py": "from patternbench.plan.far import told",
        "tests/unit/plan/test_near.py": "from patternbench.plan import near",
        "tests/unit/plan/test_other.py": "import json",
        "tests/unit/run/test_named.py": "patch = 'patternbench.plan.far.told'",
        "tests/unit/run/test_unlike.py": "import json",
        "scripts/site/reference.py": "from patternbench.plan.far import told",
        "tests/unit/docs/test_site.py": "from scripts.site import reference",
        "tests/integration/plan/test_parts.py": "from patternbench.plan.near import told",
        "tests/integration/plan/test_parts_of_far.py": "from patternbench.plan import far",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_each_kind_of_slip_is_made_where_it_can_be_and_nowhere_else(root: Path) -> None:
    found = slips.in_file(Path("src/patternbench/plan/near.py"), root)
    made = {(slip.kind, slip.was, slip.becomes) for slip in found}
    assert ("comparison", "a < 3", "(a <= 3)") in made
    assert ("lost negation", "not a < 3", "(a < 3)") in made
    assert ("lost term", "max(a, b) + 1", "(max(a, b))") in made
    assert ("swapped arguments", "max(a, b)", "(max(b, a))") in made
    assert ("min/max", "max(a, b)", "(min(a, b))") in made
    assert ("lost statement", "note(a, b)", "pass") in made
    assert not any("None" in slip.was for slip in found), "annotations have no slips"
    assert all(ast.parse(slip.changed) and slip.changed != CODE for slip in found)


def test_the_same_seed_draws_the_same_slips_each_in_its_own_line(root: Path) -> None:
    first, again = (slips.drawn(["plan"], 2, seed=3, root=root) for _ in range(2))
    assert first == again
    assert len({slip.line for slip in first}) == 2


def test_the_tests_of_a_slip_are_all_that_may_reach_its_module_the_nearest_first(root: Path) -> None:
    graph = slips.graph_of(root)
    tests = slips.tests_of(Path("src/patternbench/plan/near.py"), graph)
    assert tests == [
        "tests/unit/plan/test_near.py",
        "tests/unit/plan/test_far.py",
        "tests/unit/run/test_named.py",
        "tests/unit/docs/test_site.py",
        "tests/unit/plan/test_other.py",
        "tests/integration/plan/test_parts.py",
    ]


def test_every_file_of_tests_is_tried_however_many_there_are() -> None:
    names = [f"test_{number}.py" for number in range(100)]
    tried = list(slips.steps_of(names))
    assert [name for step in tried for name in step] == names
    assert [len(step) for step in tried] == [12, 48, 40]


FAR = "from patternbench.plan.far import told\n\n\ndef test_it() -> None:\n    assert {}\n"


@pytest.mark.parametrize(
    ("near", "far", "fate", "by"),
    [
        ("True", "told(3, 2) is False", slips.DIED, "tests/unit/plan/test_far.py::test_it"),
        ("True", "True", slips.SURVIVED, "2 files"),
        ("False", "True", slips.SURVIVED, "2 files"),
        ("False", "told(3, 2) is False", slips.DIED, "tests/unit/plan/test_far.py::test_it"),
    ],
    ids=["a test fails", "none fails", "one fails anyway", "one fails anyway and another notices"],
)
def test_a_slip_dies_by_the_first_test_that_passes_without_it(
    tmp_path: Path, near: str, far: str, fate: str, by: str
) -> None:
    code = "def told(a: int, b: int) -> bool:\n    return a < b\n"
    for name, text in {
        "src/patternbench/__init__.py": "",
        "src/patternbench/plan/__init__.py": "",
        "src/patternbench/plan/far.py": code,
        "tests/unit/plan/test_far.py": FAR.format(far),
        "tests/unit/plan/test_near.py": FAR.format(near),
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    tests = ["tests/unit/plan/test_near.py", "tests/unit/plan/test_far.py"]
    changed = slips.Slip("src/patternbench/plan/far.py", 2, "<", ">", "comparison", code.replace("<", ">"))
    row = slips.fate(changed, tests, tmp_path)
    assert (row.fate, row.by.removeprefix("FAILED ")) == (fate, by)
    assert (tmp_path / changed.file).read_text() == code
