"""The page on overloads that do not end: it has every study of the pack, and how long each takes by its plan."""

from __future__ import annotations

import re
from functools import cache

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from reproductions import metastable
from reproductions.pages import plan_of
from scripts.sessions.studies import names_in
from tests.support.retry_queue import RetryQueue
from tests.support.studies import ROOT

from patternbench.cli.plan import plan
from patternbench.plan.doses import configurations
from patternbench.study.load import load

NAMES = sorted(path.stem for path in (ROOT / "studies").glob("metastable-*.yaml"))
PAGE = " ".join((ROOT / "docs" / "metastable.md").read_text(encoding="utf-8").split())
MOST_H = 30
"""What the pack may take in all, in hours."""
REMEDIES = {"baseline", "again", "jitter", "budget", "breaker", "deadline_over_all", "short", "bulkhead_100"}


@cache
def guessed(name: str) -> str:
    """How long a study takes by its plan, as the plan says it: from the fewest rounds to the most."""
    shown = CliRunner().invoke(plan, [str(ROOT / "studies" / f"{name}.yaml")]).output
    found = re.search(r"roughly (.+?) \(a guess", " ".join(shown.split()))
    assert found, shown
    return found[1]


def hours(text: str) -> float:
    """The longer one of the times that a plan says: `84 min to 3 h 05 min`."""
    parts = re.findall(r"(\d+) (h|min|s)", text.rpartition(" to ")[2])
    return sum(int(number) * {"h": 1, "min": 1 / 60, "s": 1 / 3600}[unit] for number, unit in parts)


@pytest.mark.parametrize("name", NAMES)
def test_a_study_of_the_pack_is_on_the_page_with_what_its_rounds_say(name: str) -> None:
    assert f"](../studies/{name}.yaml)" in PAGE
    assert f"<!-- {name} -->" in PAGE
    assert name in metastable.PAGE.readers


def test_a_search_that_was_measured_shows_its_edges_its_claims_and_how_many_rounds_they_rest_on() -> None:
    rounds = a_search("metastable-queue", lost_from=65)
    reported = metastable.searched("metastable-queue", rounds)
    edges = re.findall(r"^\| (?:once|descartes|metafor)[^|]* \| ([\d.]+) %", reported, re.MULTILINE)
    assert len(edges) == 4
    assert all(60 <= float(at) <= 70 for at in edges), reported
    assert "Measured with [metastable-queue](../studies/metastable-queue.yaml); blocks: 12." in reported
    assert "With the three retries of DesCartes it comes back from less load" in reported


def test_the_chain_of_the_known_queue_says_the_boundary_that_the_page_holds_the_searches_against() -> None:
    queue = RetryQueue(served=40.0, timeout=0.25, frozen=1.0, after=14.5)
    assert pytest.approx(queue.boundary(np.arange(16.0, 24.01)), abs=0.05) == metastable.CHAIN


@pytest.mark.parametrize(("lost_from", "held"), [(20, 3), (24, 0)])
def test_a_search_for_the_known_boundary_says_whether_its_interval_holds_it(lost_from: float, held: int) -> None:
    rounds = a_search("known-queue", lost_from, blocks=16)
    assert metastable.held_against_chain(rounds).count("| yes |") == held


def a_search(study: str, lost_from: float, blocks: int = 12) -> pd.DataFrame:
    """Rounds of a search, blocks with each configuration about a dose from which on all are lost."""
    plan = plan_of(study)
    searched = configurations(plan.scenarios, "rate")
    doses = [dose for dose in searched[0].scenarios if abs(dose - lost_from) <= 12 and dose != lost_from]
    rows = [
        {"block": block, "scenario": one.scenarios[dose], "recovered": 100.0 * (dose < lost_from)}
        for block, dose in enumerate(([*doses] * blocks)[:blocks])
        for one in searched
    ]
    return pd.DataFrame(rows).assign(round=range(len(rows)), study=study, warnings="[]")


def test_the_pack_takes_no_longer_than_planned_and_is_measured_in_the_order_of_the_list() -> None:
    total = sum(hours(guessed(name)) for name in NAMES)
    listed = (ROOT / "scripts" / "evidence.list").read_text(encoding="utf-8")
    assert total < MOST_H
    assert f"at most {total:.0f} hours" in PAGE
    assert f"{total:.0f} hours at most in all." in listed
    assert set(NAMES) < set(names_in(listed))


@pytest.mark.parametrize("name", NAMES)
def test_each_study_says_what_it_expects_or_only_measures_a_boundary(name: str) -> None:
    study = load(ROOT / "studies" / f"{name}.yaml")
    claims = study.boundary.claims if study.boundary else study.claims
    assert claims or name == "metastable-cinema", "nobody has published what comes of its two architectures"


@pytest.mark.parametrize(
    "name",
    [
        "metastable-store",
        "metastable-store-margin",
        "metastable-layers",
        "metastable-shop",
        "metastable-cinema-remedies",
    ],
)
def test_a_study_of_remedies_has_all_eight(name: str) -> None:
    strategies = load(ROOT / "studies" / f"{name}.yaml").strategies
    assert {one.known_as for one in strategies} == REMEDIES
