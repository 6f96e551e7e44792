"""The page on overloads that do not end: it has every study of the pack, and how long each takes by its plan."""

from __future__ import annotations

import re
from functools import cache

import pytest
from click.testing import CliRunner
from scripts.sessions.studies import names_in
from tests.support.studies import ROOT

from patternbench.cli.plan import plan
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
def test_a_study_of_the_pack_is_on_the_page_with_the_time_that_its_plan_says(name: str) -> None:
    command = f"`patternbench run studies/{name}.yaml --out runs/{name}`"
    assert f"](../studies/{name}.yaml)" in PAGE
    assert f"Not measured yet: {command} takes {guessed(name)}." in PAGE


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
