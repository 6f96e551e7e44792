"""What is simulated next to a round is the limit that it enforced, over all its balancers."""

from __future__ import annotations

from typing import Any

import pytest

from patternbench.ratelimit.plan.limit import EnforcedLimit
from patternbench.ratelimit.plan.replay import RECORDED, map_scenarios, over_all, promised, round_scenario
from patternbench.terms.units import Duration

AT_ONCE, FAR = Duration(0), Duration.parse("25ms")


def limit(**fields: Any) -> EnforcedLimit:
    base = {"algorithm": "token_bucket", "limit": 10, "window": "6000000us", "burst": 5, "store": "redis"}
    return EnforcedLimit.model_validate({**base, **fields})


def test_a_shared_store_holds_the_limit_that_every_balancer_was_given() -> None:
    assert over_all(limit(), {"limit": 99}, 2) == limit()


def test_balancers_that_count_by_themselves_enforce_parts_of_what_was_declared() -> None:
    part = limit(store="memory", limit=3, burst=1)
    assert over_all(part, {"limit": 10, "burst": 5}, 3).limit == 10
    assert over_all(part, {"limit": 10, "burst": 5}, 3).burst == 5
    assert over_all(part, {}, 3).limit == 9


@pytest.mark.parametrize(("declared", "grace"), [(100, 10), (10, 15), (5, 19), (3, 50), (7, 0), (1, 100)])
def test_a_limit_with_a_grace_is_judged_by_what_was_promised(declared: int, grace: int) -> None:
    enforced = limit(limit=declared + declared * grace // 100)
    assert promised(enforced, {"grace": grace}).limit == declared


def test_a_part_of_a_limit_is_judged_by_the_whole_that_was_declared_whatever_the_grace() -> None:
    part = limit(store="memory", limit=5)
    assert promised(over_all(part, {"limit": 10}, 2), {"grace": 10}).limit == 10


@pytest.mark.parametrize(
    ("fields", "synchronisation", "store", "staleness"),
    [
        ({}, "request", "central", 0),
        ({"store": "crdt"}, "request", "crdt", 35_000),
        ({"store": "memory"}, "share", "central", 0),
        ({"lease": {"mode": "lazy", "share": 0.5}}, "lazy", "central", 0),
    ],
)
def test_a_round_is_simulated_as_its_limit_was_kept(
    fields: dict[str, Any], synchronisation: str, store: str, staleness: int
) -> None:
    found = round_scenario(limit(**fields), "file.tsv", 2, 1, FAR)
    assert (found["synchronisation"], found["store"], found["staleness_us"]) == (synchronisation, store, staleness)
    assert (found["recorded"], found["balancers"], found["limit"], found["burst"]) == ("file.tsv", 2, 10, 5)


def test_a_bucket_without_a_burst_holds_the_limit_and_a_short_window_a_narrower_band() -> None:
    found = round_scenario(limit(window="10ms", burst=None), "file.tsv", 2, 1, AT_ONCE)
    assert (found["burst"], found["tolerance_us"]) == (10, 9_999)


def test_a_lease_that_leaves_something_out_has_the_filters_own_defaults() -> None:
    found = round_scenario(limit(lease={"mode": "eager", "share": 0.2}), "file.tsv", 4, 2, AT_ONCE)
    terms = {"size": "static", "share": 0.2, "most": 1_000_000, "expires_us": 1_000_000, "holder": "worker"}
    assert found["lease"] == terms
    assert found["workers"] == 2


def test_a_lease_that_workers_share_is_simulated_as_one_of_their_balancer() -> None:
    shared = limit(lease={"mode": "eager", "holder": "balancer"})
    scenario = round_scenario(shared, "file.tsv", 4, 2, AT_ONCE)
    assert (scenario["balancers"], scenario["workers"], scenario["lease"]["holder"]) == (4, 2, "balancer")


def test_the_map_has_every_scenario_on_recorded_requests_and_again_in_bursts() -> None:
    found, left_out = map_scenarios(limit(), "file.tsv", [120.0, 30.0], Duration.parse("1m"))
    recorded = [each for each in found if each["arrivals"] == RECORDED]
    assert 2 * len(recorded) == len(found)
    assert all(each["recorded"] == "file.tsv" for each in recorded)
    assert all("recorded" not in each for each in found if each["arrivals"] == "bursty")
    assert [each["id"] for each in found] == list(range(len(found)))
    assert any("can't be leased" in note for note in left_out)
