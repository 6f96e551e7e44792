"""The page that teaches how to write a client speaks of rules and files that exist."""

from __future__ import annotations

import re
from pathlib import Path

from patternbench.conformance import rules  # noqa: F401 - importing them registers the rules
from patternbench.conformance.trial import RULES

REPOSITORY = Path(__file__).parents[3]
PAGE = REPOSITORY / "docs" / "write-a-client.md"


def test_every_rule_that_the_page_names_is_checked() -> None:
    names = [rule.name for rule in RULES]
    cells = re.findall(r"^\|.*\| (`[^|]*`) \|$", PAGE.read_text(), flags=re.MULTILINE)
    named = [name for cell in cells for name in re.findall(r"`([^`]+)`", cell)]
    assert len(named) > 15
    for name in named:
        assert any(rule.startswith(name.removesuffix("...").strip()) for rule in names), name


def test_every_link_of_the_page_leads_to_a_file() -> None:
    links = re.findall(r"\]\(([^)#]+)\)", PAGE.read_text())
    assert links
    for link in links:
        assert (PAGE.parent / link).exists(), link


def test_rules_have_names_of_their_own() -> None:
    names = [rule.name for rule in RULES]
    assert len(set(names)) == len(names)
    assert names[0] == "description"
