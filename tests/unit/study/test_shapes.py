"""What is allowed is said in words, never as a regular expression."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from tests.support.studies import ROOT, changed, problems

from patternbench.study.schema import study_schema
from patternbench.study.text.shapes import SHAPES


def patterns(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        yield from ([node["pattern"]] if isinstance(node.get("pattern"), str) and "examples" not in node else [])
        for value in node.values():
            yield from patterns(value)
    elif isinstance(node, list):
        for value in node:
            yield from patterns(value)


def test_every_shape_of_a_text_has_words() -> None:
    used = set(patterns(json.loads((ROOT / "contracts/study/study.schema.json").read_text())))
    typed = {pattern for pattern in used if "us|ms" not in pattern and not pattern.startswith(r"^\d")}
    assert typed
    assert typed <= set(SHAPES), typed - set(SHAPES)


def test_a_wrong_name_is_told_what_names_look_like() -> None:
    (problem,) = problems(changed(name="'[A-Z'"))
    assert problem.allowed == "small letters, digits, `.`, `_` and `-`, with a letter or digit first"


EXAMPLES = re.compile(r"`([^`]+)`")
STANDING_FOR = {"HOST": "shop.example", "PORT": "8080", "/PATH": "/run/shop.sock"}
SCHEMES = ("http://", "https://", "unix:")


def example(words: str) -> str:
    """An example that words give, with something in each of its places."""
    for place, text in STANDING_FOR.items():
        words = words.replace(place, text)
    return words


@pytest.mark.parametrize(("pattern", "words"), [(one, said) for one, said in SHAPES.items() if "://" in said])
def test_the_words_for_a_url_name_each_scheme_that_is_taken_and_no_other(pattern: str, words: str) -> None:
    said = [example(one) for one in EXAMPLES.findall(words)]
    assert all(re.match(pattern, one) for one in said), said
    named = {scheme for scheme in SCHEMES if any(one.startswith(scheme) for one in said)}
    taken = {
        scheme for scheme in SCHEMES if re.match(pattern, f"{scheme}{'/run/s' if scheme == 'unix:' else 'shop:1'}")
    }
    assert named == taken


@pytest.mark.parametrize(
    ("text", "taken"),
    [("5%", True), ("20ms", True), ("3", True), ("5 %", True), ("1.5s", True), ("1h", False), ("-5%", False)],
)
def test_the_examples_of_an_amount_are_amounts(text: str, taken: bool) -> None:
    (pattern,) = [one for one, words in SHAPES.items() if words.startswith("a share or an amount")]
    assert bool(re.match(pattern, text)) is taken


@pytest.mark.parametrize("url", ["http://127.0.0.1:99999", "http://127.0.0.1:0", "http://[::1", "http://h:x"])
def test_a_url_with_no_such_port_or_host_is_refused(url: str) -> None:
    (problem,) = problems(changed(system=f"{{url: '{url}'}}"))
    assert "has no such host or port" in str(problem)
    assert problem.allowed == "a host name or an address, and a port from 1 to 65535"


def test_the_schema_of_a_study_is_the_one_that_is_checked_in_for_editors() -> None:
    checked_in = json.loads((ROOT / "contracts/study/study.schema.json").read_text(encoding="utf-8"))
    assert study_schema() == checked_in, "type `make contracts`"
