"""The studies of the shop: they expand to what their heads say, and send the same journey."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from tests.support.studies import ROOT

from patternbench.plan.expand import Plan
from patternbench.records.inputs import Inputs
from patternbench.run import preflight
from patternbench.study.levels import only
from patternbench.study.load import loads
from patternbench.study.models import Study

FULL, QUICK = "rate-limiting-shop", "rate-limiting-shop-quick"
OTHERS = ("shop-bundles", "shop-limits-by-route", "shop-overload")


def study(name: str) -> Study:
    file = ROOT / "studies" / f"{name}.yaml"
    return loads(file.read_text(encoding="utf-8"), str(file))


def plan(name: str) -> Plan:
    return preflight.expanded(study(name), Inputs(Path(ROOT / "studies")))


@pytest.mark.parametrize(("name", "scenarios"), [(FULL, 71), (QUICK, 11), *zip(OTHERS, (4, 3, 4), strict=True)])
def test_a_study_of_the_shop_has_so_many_scenarios(name: str, scenarios: int) -> None:
    assert len(plan(name).scenarios) == scenarios


def test_the_full_and_the_quick_study_and_that_of_overload_send_the_same_journey() -> None:
    first, *rest = [study(name).workload for name in (FULL, QUICK, "shop-overload")]
    assert all(
        (one.journey, one.lists, one.parameters) == (first.journey, first.lists, first.parameters) for one in rest
    )


@pytest.mark.parametrize(("name", "faster"), [(FULL, 1), (QUICK, 2), ("shop-bundles", 2)])
def test_users_are_5_20_and_75_percent_at_the_published_paces_or_twice_as_fast(name: str, faster: int) -> None:
    groups = study(name).workload.groups or []
    assert [group.share for group in groups] == [5, 20, 75]
    rates = [float(only(group.rate) or 0) * 60 for group in groups if group.rate]
    assert rates == [120 * faster, 90 * faster, 30 * faster]


@pytest.mark.parametrize("name", [FULL, QUICK, *OTHERS])
def test_every_request_of_the_journey_waits_for_its_turn_and_is_repeated_until_it_is_answered_200(name: str) -> None:
    workload = study(name).workload
    assert workload.journey is not None
    for step in workload.journey.steps:
        assert step.until_expected is not None
        assert step.expect is not None
        assert step.expect.statuses == [200]
    walking = [group for group in workload.groups or [] if group.journey is None]
    assert [only(group.paces) if group.paces else "journey" for group in walking] == ["request"] * len(walking)


def test_the_journey_has_the_eight_transactions() -> None:
    journey = study(FULL).workload.journey
    assert journey is not None
    assert len(Counter(step.name for step in journey.steps)) == 8
