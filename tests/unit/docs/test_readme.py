"""What the first page says in numbers is so."""

from __future__ import annotations

import re

from tests.support.studies import ROOT

from patternbench.conformance.check import RULES

README = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())


def test_the_anti_pattern_of_the_first_page_is_the_one_that_was_measured() -> None:
    page = (ROOT / "docs/five-ways-to-make-it-worse.md").read_text(encoding="utf-8")
    percent = re.search(r"\| ([0-9.]+) \(window of 2 calls\) \| confirmed \|", page)
    assert percent is not None
    words = "With 1 % of failing answers, a circuit breaker with a window of two calls fails {} % of all calls"
    assert words.format(percent[1]) in README


def test_the_first_page_counts_the_rules_and_the_clients_that_are_held_to_them() -> None:
    clients = len(list((ROOT / "clients").glob("*/client.yaml")))
    assert f"{clients} clients are held to {len(RULES)} rules" in README
