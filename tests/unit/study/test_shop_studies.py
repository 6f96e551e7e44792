"""The studies of the shop: they expand to what their heads say, and send the same journey."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.support.shipped_studies import fields
from tests.support.studies import ROOT

from patternbench.plan.expand import Plan
from patternbench.records.inputs import Inputs
from patternbench.run.before import preflight
from patternbench.study.load import load, loads
from patternbench.study.model.levels import only
from patternbench.study.models import Study
from patternbench.terms.units import Duration

FULL, QUICK, LEASES = "rate-limiting-shop", "rate-limiting-shop-quick", "rate-limiting-shop-leases"
LEASES_QUICK = "rate-limiting-leases-quick"
SHEDDING, BALANCERS, STRESS = "shop-load-shedding", "shop-balancers", "shop-stress"
SHORT = [f"{name}-quick" for name in (SHEDDING, BALANCERS, STRESS)]
REPEATED = (FULL, QUICK, LEASES, "shop-bundles", "shop-limits-by-route", "shop-overload", SHEDDING, BALANCERS)
"""Those in which a request is repeated until it is answered well."""


def study(name: str) -> Study:
    return load(ROOT / "studies" / f"{name}.yaml")


def plan(name: str) -> Plan:
    return preflight.expanded(study(name), Inputs(Path(ROOT / "studies")))


@pytest.mark.parametrize(
    ("name", "scenarios"),
    [*zip(REPEATED, (71, 19, 16, 4, 3, 4, 8, 17), strict=True), (STRESS, 24), *zip(SHORT, (8, 11, 12), strict=True)],
)
def test_a_study_of_the_shop_has_so_many_scenarios(name: str, scenarios: int) -> None:
    assert len(plan(name).scenarios) == scenarios


def test_the_full_and_the_quick_study_and_those_of_overload_balancers_and_leases_send_the_same_journey() -> None:
    names = (FULL, QUICK, LEASES, "shop-overload", SHEDDING, BALANCERS)
    first, *rest = [study(name).workload for name in names]
    assert all(
        (one.journey, one.lists, one.parameters) == (first.journey, first.lists, first.parameters) for one in rest
    )


@pytest.mark.parametrize("name", SHORT)
def test_a_quick_form_sends_what_its_study_sends(name: str) -> None:
    short, whole = (study(one).workload for one in (name, name.removesuffix("-quick")))
    assert (short.journey, short.lists, short.parameters) == (whole.journey, whole.lists, whole.parameters)
    assert short.affinity == whole.affinity


def test_leases_of_the_quick_form_serve_as_many_requests_as_those_of_its_study() -> None:
    names = (LEASES_QUICK, LEASES_QUICK.removesuffix("-quick"))
    served = [[rate * lasting(name, "lease_expires") for rate in rates(name)] for name in names]
    assert served[0] == pytest.approx(served[1])
    assert [lasting(name, "window") / lasting(name, "lease_expires") for name in names] == [3, 3]


def rates(name: str) -> list[float]:
    """Requests per second of each group's users."""
    return [float(only(group.rate) or 0) for group in study(name).workload.groups or [] if group.rate]


def lasting(name: str, setting: str) -> float:
    """The seconds of a setting of a study's system."""
    system: Any = fields(ROOT / "studies" / f"{name}.yaml")["system"]
    return Duration.parse(system["settings"][setting]).seconds


@pytest.mark.parametrize(
    ("name", "faster"), [(FULL, 1), (LEASES, 1), (QUICK, 2), ("shop-bundles", 2), (BALANCERS, 2), (LEASES_QUICK, 4)]
)
def test_users_are_5_20_and_75_percent_at_the_published_paces_or_faster(name: str, faster: int) -> None:
    assert [group.share for group in study(name).workload.groups or []] == [5, 20, 75]
    assert [rate * 60 for rate in rates(name)] == [120 * faster, 90 * faster, 30 * faster]


@pytest.mark.parametrize("name", REPEATED)
def test_every_request_of_the_journey_waits_for_its_turn_and_is_repeated_until_it_is_answered_200(name: str) -> None:
    workload = study(name).workload
    assert workload.journey is not None
    for step in workload.journey.steps:
        assert step.until_expected is not None
        assert step.expect is not None
        assert step.expect.statuses == [200]
    walking = [group for group in workload.groups or [] if group.journey is None]
    assert [only(group.paces) if group.paces else "journey" for group in walking] == ["request"] * len(walking)


def test_a_pass_under_stress_has_the_same_requests_and_ends_at_the_first_that_fails() -> None:
    stressed, usual = (study(name).workload.journey for name in (STRESS, FULL))
    assert stressed is not None
    assert usual is not None
    assert [(step.name, step.path) for step in stressed.steps] == [(step.name, step.path) for step in usual.steps]
    assert all(step.expect and step.expect.statuses == [200] for step in stressed.steps)
    assert [step.until_expected for step in stressed.steps] == [None] * len(stressed.steps)
    assert stressed.on_failure is None


def test_the_shop_is_flooded_by_one_client_or_by_many_of_whom_each_stays_below_its_limit() -> None:
    found = study(SHEDDING)
    (flood,) = [group.open for group in found.workload.groups or [] if group.open]
    each = [float(only(flood.rate) or 0) / users for users in flood.users]
    limit, window_s = 10, 3
    assert [rate * window_s > limit for rate in each] == [True, False]


def test_clients_of_two_and_of_four_balancers_take_them_in_turn_or_keep_to_one() -> None:
    limited = [one.levels for one in plan(BALANCERS).scenarios if one.levels["algorithm"] != "no_limiter"]
    counted = Counter((one["balancers"], one["affinity"]) for one in limited)
    assert counted == {(number, affinity): 4 for number in (2, 4) for affinity in ("none", "user")}


@pytest.mark.parametrize("name", [FULL, QUICK, STRESS])
def test_a_study_of_the_shop_points_at_a_teastore_that_runs_elsewhere(name: str) -> None:
    """As docs/systems/shop.md says: a URL for the system, without its settings and what names them."""
    written = fields(ROOT / "studies" / f"{name}.yaml")
    for part in ("design", "claims", "quick"):
        written.pop(part, None)
    found = loads(
        json.dumps({**written, "system": {"url": "http://teastore.test:8080"}, "form": "whole"}), "elsewhere.json"
    )
    assert preflight.expanded(found, Inputs(ROOT / "studies")).scenarios
    assert found.workload.journey == study(name).workload.journey


def test_the_journey_has_the_eight_transactions() -> None:
    journey = study(FULL).workload.journey
    assert journey is not None
    assert len(Counter(step.name for step in journey.steps)) == 8
