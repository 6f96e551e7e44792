"""What makes code hard to follow is counted, and no count may grow."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from scripts.checks import house
from scripts.checks.house import Modules, Site

RATCHET = {
    "subscripts": 0,
    "any": 10,
    "classes": 0,
    "modules": 0,
    "cycles": 0,
    "pronouns": 0,
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
    asked = texts(house.subscripts(modules(a=CONFIGURATIONS)))
    assert {text[-3] for text in asked} == set("abdefghi")
    assert len(asked) == 8


def test_a_name_is_any_wherever_its_annotation_holds_it() -> None:
    source = "x: Any = 1\ny: dict[str, Any]\nz: int\ndef f(a: Any, b: int, *c: Any) -> list[Any]: ...\nAnyhow: str\n"
    assert len(list(house.any_names(modules(a=source)))) == 5


def test_classes_of_one_name_are_told_with_all_their_places() -> None:
    sites = house.class_names(modules(a="class Plan: ...\nclass Other: ...", b="class _Plan: ..."))
    assert [(site.path.stem, site.text) for site in sites] == [("a", "Plan"), ("b", "_Plan")]


def test_modules_may_share_a_name_twice_and_not_three_times() -> None:
    def named(count: int) -> Modules:
        return {Path(f"room{number}/words.py"): ast.parse("") for number in range(count)}

    assert list(house.module_names(named(2))) == []
    assert len(list(house.module_names(named(3)))) == 3
    for name in ("__init__", "observer"):
        assert list(house.module_names({Path(f"{number}/{name}.py"): ast.parse("") for number in range(3)})) == []


def test_pronouns_are_names_wherever_they_are_bound() -> None:
    source = "def each(place): ...\nfound = 1\nfor known in found: ...\n[given for given in found]\nprint(found)\n"
    assert sorted(texts(house.pronouns(modules(a=source)))) == ["each", "found", "given", "known", "place"]


def test_the_counts_are_printed_and_their_sites_where_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert house.main([]) == 0
    printed = capsys.readouterr().out
    assert all(key in printed for key in house.COUNTS)
    assert house.main(["nonsense"]) == 2
    assert "allowed: subscripts" in capsys.readouterr().err
