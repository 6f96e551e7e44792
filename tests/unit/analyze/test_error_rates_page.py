"""The page's tables of simulated error rates have the rows and columns that their script prints."""

import re

import pytest
from tests.support import error_rates_of_rounds as script
from tests.support.studies import ROOT

PAGE = (ROOT / "docs" / "analysis.md").read_text(encoding="utf-8")
RATES = ("drift_said", "patterns_said", "stops", "knees_said")


def test_the_page_has_every_row_of_the_tables_of_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in RATES:
        monkeypatch.setattr(script, name, lambda *_, **__: 0.0)
    monkeypatch.setattr(script, "capacities", lambda *_: {"told": 0.0, "usual": 0.0, "rounds": 0.0})
    monkeypatch.setattr(script, "adjusted", lambda *_: {"differ": 0.0, "found": 0.0})
    printed = [line for text in script.lines(1) for line in text.splitlines() if line]
    assert len(printed) > 20
    assert [line for line in printed if _without_numbers(line) not in _without_numbers(PAGE)] == []


def _without_numbers(text: str) -> str:
    """The text with each rate alike."""
    return re.sub(r"\d+%", "-", text)
