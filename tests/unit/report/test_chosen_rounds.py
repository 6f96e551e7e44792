"""The section on rounds that stopped once the choice was known, of made-up standings of its conditions."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from patternbench.observe.section import Section
from patternbench.report.sections import chosen_rounds

RULE: Any = SimpleNamespace(most=10, looks=(4, 6, 10), margin=5.0, level=0.95)


def standing(decided: bool, between: bool = True, at_once: int | None = 8) -> Any:
    """A condition at the end of a run."""
    outlook = None if at_once is None else SimpleNamespace(at_once=at_once)
    return SimpleNamespace(decided=decided, between=between, outlook=outlook, choice=None, conditions={}, blocks=6)


@pytest.fixture
def section(monkeypatch: pytest.MonkeyPatch) -> Section:
    """Of three conditions two are known; of one no look came in between. 45 of 60 rounds were made."""
    found = [standing(True, at_once=8), standing(True, at_once=9), standing(False, between=False)]
    monkeypatch.setattr(chosen_rounds, "standings", lambda *_: found)
    monkeypatch.setattr(chosen_rounds, "criteria_of", lambda *_: None)
    monkeypatch.setattr(chosen_rounds, "_row", lambda *_: {"condition": "one"})
    report: Any = SimpleNamespace(done=pd.DataFrame({"round": [1]}), rounds=[0] * 45, scenarios=[0] * 6, factors={})
    study: Any = None
    return chosen_rounds.section(report, study, RULE)


def test_it_is_found_by_its_address_and_headed_by_its_title(section: Section) -> None:
    assert (section.anchor, section.title) == ("stopping", "Rounds that stopped once the choice was known")
    assert re.fullmatch(r"[a-z-]+", section.anchor)


def test_it_says_what_was_known_what_was_saved_and_what_equal_rounds_would_have_needed(section: Section) -> None:
    known, equal, rule, waited = section.words
    assert known == "2 of 3 choices known after 45 of 60 rounds: 25% saved."
    assert "about 9 each" in equal and "54 in all" in equal
    assert "after 4, 6, 10 blocks" in rule and "at most 5 of 100" in rule
    assert waited.startswith("Under 1 of 3 conditions no look came between")
