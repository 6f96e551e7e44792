"""What the first page says in numbers is so."""

from __future__ import annotations

from tests.support.studies import ROOT

from patternbench.conformance.check import RULES

README = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())


def test_the_first_page_counts_the_rules_and_the_clients_that_are_held_to_them() -> None:
    clients = len(list((ROOT / "clients").glob("*/client.yaml"))) - README.count("has not been built")
    assert f"{clients} clients are held to {len(RULES)} rules" in README
