"""Which files of unit tests the fast subset leaves out."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from scripts.checks.long_tests import FILE, long, seconds_of

REPORT = """<testsuites><testsuite>
<testcase file="tests/unit/a.py" name="one" time="1.5"/><testcase file="tests/unit/a.py" name="two" time="2"/>
<testcase file="tests/unit/b.py" name="one" time="0.25"/>
</testsuite></testsuites>"""


def test_the_time_of_a_file_is_that_of_its_tests_together() -> None:
    assert seconds_of(REPORT) == {"tests/unit/a.py": 3.5, "tests/unit/b.py": 0.25}


@pytest.mark.parametrize(("budget", "left_out"), [(8, ""), (7, "c"), (4, "c"), (3, "bc"), (0.5, "abc")])
def test_what_takes_longest_is_left_out_until_the_rest_fits(budget: float, left_out: str) -> None:
    assert long({"a": 1.0, "b": 3.0, "c": 4.0}, budget) == {*left_out}


def test_each_file_that_is_left_out_is_there() -> None:
    listed = FILE.read_text(encoding="utf-8").split()
    assert listed == sorted({*listed})
    assert [file for file in listed if not Path(file).is_file()] == []


@pytest.mark.parametrize(("quick", "left_out"), [(True, {"long.py"}), (False, set())])
def test_the_fast_subset_leaves_out_the_files_of_the_list_and_no_others(
    quick: bool, left_out: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    shared = request.config.pluginmanager.get_plugin(str(FILE.parent.absolute() / "conftest.py"))
    (tmp_path / FILE.name).write_text("long.py\n", encoding="utf-8")
    monkeypatch.setattr(shared, "LONG", tmp_path / FILE.name)
    config = SimpleNamespace(getoption={"--quick": quick}.get, rootpath=tmp_path)
    names = {"long.py", "short.py", "long"}
    assert {name for name in names if shared.pytest_ignore_collect(tmp_path / name, config)} == left_out
