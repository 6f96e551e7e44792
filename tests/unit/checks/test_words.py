"""A word of docs/words.md means one thing in every language: each stands where its meaning is at home."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.support.studies import ROOT

SOURCES = ("src", "engine/crates", "filters", "clients", "agents", "contracts")
"""Ours but for the applications, which speak of their own business: a shopper has a session."""
SUFFIXES = (".py", ".rs", ".lua", ".go", ".java", ".js")
BUILT = {"target", "node_modules", ".venv", "build"}
NAMED = re.compile(
    r"\b(?:class|struct|enum|trait|type|interface|def|fn|func|function|local|let|var|const|mod)\s+(?:mut\s+)?"
    r"(?:\([^)]*\)\s*)?(\w+)"
)
HOMES = {
    "plan": "src/patternbench/",
    "session": "engine/crates/load/",
    "fixture": "src/patternbench/run/",
}


def words_of(name: str) -> set[str]:
    """The words of an identifier, singular: those of ``addSessions`` are ``add`` and ``session``."""
    return {word.lower().removesuffix("s") for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name)}


def named_by(word: str, text: str) -> list[str]:
    """What a source text names with a word."""
    return [name for name in NAMED.findall(text) if word in words_of(name)]


def sources() -> list[Path]:
    files = [path for folder in SOURCES for path in (ROOT / folder).rglob("*") if path.suffix in SUFFIXES]
    return [path for path in files if not BUILT & set(path.relative_to(ROOT).parts)]


@pytest.mark.parametrize(("word", "home"), HOMES.items())
def test_a_word_names_one_thing_in_all_languages(word: str, home: str) -> None:
    elsewhere = {
        str(path.relative_to(ROOT)): names
        for path in sources()
        if not str(path.relative_to(ROOT)).startswith(home)
        for names in [named_by(word, path.read_text(encoding="utf-8")), named_by(word, f"class {path.stem}")]
        if names
    }
    assert elsewhere == {}
    assert f"| {word} |" in (ROOT / "docs/words.md").read_text(encoding="utf-8")


def test_a_word_is_found_however_a_language_writes_names() -> None:
    text = "class BalancerPlan:\nlocal plan_of = 1\nfunc (s *x) NewPlan(a int)\nlet mut plans = 2;\nfn explanation()"
    assert named_by("plan", text) == ["BalancerPlan", "plan_of", "NewPlan", "plans"]
