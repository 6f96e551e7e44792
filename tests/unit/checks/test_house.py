"""What makes code hard to follow is counted, and no count may grow."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from scripts.checks import house
from scripts.checks.house import Modules, Site

RATCHET = {
    "subscripts": 0,
    "any": 8,
    "classes": 0,
    "frames": 408,
    "attrs": 0,
    "circles": 0,
    "cycles": 0,
}
"""What each count has come down to; lower it here whenever it falls."""


@pytest.fixture(scope="module")
def counted() -> dict[str, list[Site]]:
    return house.counted()


@pytest.mark.parametrize("key", house.COUNTS)
def test_no_count_grows(key: str, counted: dict[str, list[Site]]) -> None:
    sites = counted[key]
    assert len(sites) <= RATCHET[key], "\n".join(map(str, sites))


def modules(**sources: str) -> Modules:
    return {Path(f"{name}.py"): ast.parse(source) for name, source in sources.items()}


def texts(sites: Iterator[Site]) -> list[str]:
    return [site.text for site in sites]


CONFIGURATIONS = """
from typing import Any
Job = dict[str, Any]
def job() -> Job: ...
def read(config: dict[str, Any], frame: pd.DataFrame, many: list[dict[str, Any]], typed: dict[str, int]) -> None:
    config["a"]["b"]
    config["written"] = 1
    frame["column"]
    typed["c"]
    job()["d"]
    made = job()
    made["e"]
    [each["f"] for each in many]
    for one in many:
        one["g"]
    def inner() -> None:
        config["h"]
class Kept:
    parts: dict[str, Any]
    def of(self) -> object:
        return self.parts["i"]
"""


def test_texts_asked_of_untyped_mappings_are_counted_wherever_they_come_from() -> None:
    requested = texts(house.subscripts(modules(a=CONFIGURATIONS)))
    assert {text[-3] for text in requested} == set("abdefghi")
    assert len(requested) == 8


def test_a_name_is_any_wherever_its_annotation_holds_it() -> None:
    source = "x: Any = 1\ny: dict[str, Any]\nz: int\ndef f(a: Any, b: int, *c: Any) -> list[Any]: ...\nAnyhow: str\n"
    assert len(list(house.any_names(modules(a=source)))) == 5


def test_classes_of_one_name_are_reported_with_all_their_places() -> None:
    sites = house.class_names(modules(a="class Plan: ...\nclass Other: ...", b="class _Plan: ..."))
    assert [(site.path.stem, site.text) for site in sites] == [("a", "Plan"), ("b", "_Plan")]


def test_columns_asked_by_texts_are_counted_outside_the_rooms_that_compute() -> None:
    source = 'def f(table: pd.DataFrame, kind: type["Kind"]) -> None:\n    table["a"].loc[0]\n    table[name]\n'
    outside, inside = Path("report/a.py"), Path("analyze/a.py")
    sites = house.frame_subscripts({path: ast.parse(source) for path in (outside, inside)})
    assert [(site.path, site.text) for site in sites] == [(outside, "table['a']")]


def test_the_attributes_of_frames_are_counted() -> None:
    assert texts(house.frame_attributes(modules(a='table.attrs["left"] = 1\nnode.attributes\n'))) == ["table.attrs"]


def test_lines_of_code_are_reported_by_room_without_tests_and_data(tmp_path: Path) -> None:
    sources = {
        "src/patternbench/plan/a.py": 3,
        "src/patternbench/plan/sub/b.py": 2,
        "src/patternbench/asking.py": 1,
        "clients/one/main.go": 4,
        "clients/one/main_test.go": 50,
        "clients/one/tests/more.py": 50,
        "docs/numbers.csv": 50,
        "clients/one/.venv/lib/library.py": 50,
    }
    for name, lines in sources.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x\n" * lines)
    assert house.lines_by_room(tmp_path) == {"src/patternbench": 1, "src/patternbench/plan": 5, "clients": 4}


def test_the_counts_are_printed_and_their_sites_where_asked_for(
    counted: dict[str, list[Site]], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(house, "counted", lambda: counted)
    assert house.main([]) == 0
    printed = capsys.readouterr().out
    assert all(f"{len(counted[key]):5}  {key}" in printed for key in house.COUNTS)
    assert house.main(["lines"]) == 0
    assert "src/patternbench/report\n" in capsys.readouterr().out
    assert house.main(["nonsense"]) == 2
    assert "allowed: subscripts" in capsys.readouterr().err


def test_what_a_constant_is_stands_below_it_as_its_docstring() -> None:
    """One way for all: what stands above it as a comment of its own kind is read by fewer tools."""
    roots = ("src", "reproductions", "scripts", "benchmarks", "tests")
    files = (path for root in roots for path in Path(root).rglob("*.py"))
    marked = re.compile(r"^\s*#: ", re.MULTILINE)
    assert [str(path) for path in files if marked.search(path.read_text(encoding="utf-8"))] == []
