"""What Python knows of the filter is what the filter's contract says."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.support.studies import ROOT

from patternbench.lab import systems
from patternbench.lab.config.filter_limits import LeaseSettings
from patternbench.ratelimit.analyze.throttling import LimitRule
from patternbench.ratelimit.plan.limit import EnforcedLimit, LeaseTerms
from patternbench.ratelimit.responses import rule_of
from patternbench.study.model import limiter
from patternbench.terms.units import Duration

LIMIT: dict[str, Any] = json.loads((ROOT / "contracts/ratelimit/plan.schema.json").read_text())["$defs"]["limit"]


def without(field: str) -> set[str]:
    """The algorithms whose limits have no such field."""
    rules = [rule for rule in LIMIT["allOf"] if rule["then"]["properties"].get(field) is False]
    return {name for rule in rules for name in rule["if"]["properties"]["algorithm"]["enum"]}


def test_the_algorithms_are_those_of_the_contract_in_its_order() -> None:
    assert list(limiter.ALGORITHMS) == LIMIT["properties"]["algorithm"]["enum"]


def test_which_algorithms_have_a_burst_and_which_a_lease_is_what_the_contract_says() -> None:
    assert set(limiter.WITHOUT_LEASE) == without("lease")
    assert set(limiter.ALGORITHMS) - set(limiter.WITH_BURST) == without("burst")


def test_what_is_assumed_of_a_limit_that_says_nothing_else_is_what_the_contract_says() -> None:
    lease = LIMIT["properties"]["lease"]["properties"]
    assert LIMIT["properties"]["sub_windows"]["default"] == limiter.SUB_WINDOWS
    assert list(limiter.LEASES) == lease["mode"]["enum"]
    assert list(limiter.LEASE_SIZES) == lease["size"]["enum"]
    assert list(limiter.LEASE_HOLDERS) == lease["holder"]["enum"]
    assert lease["holder"]["default"] == limiter.LEASE_HOLDER
    assert lease["size"]["default"] == limiter.LEASE_SIZE
    assert lease["share"]["default"] == limiter.LEASE_SHARE
    assert lease["most"]["default"] == limiter.LEASE_MOST
    assert Duration.parse(lease["expires"]["default"]) == limiter.LEASE_EXPIRES
    least, most = map(Duration.parse, lease["expires"]["description"].split(" to "))
    assert (least, most) == (limiter.SHORTEST_LEASE, limiter.LONGEST_LEASE)


@pytest.mark.parametrize("lease", [LeaseTerms(mode="eager"), LeaseSettings(mode="eager")])
def test_a_lease_that_says_nothing_else_is_the_same_to_the_filter_and_to_the_judge(lease: object) -> None:
    assumed = {
        "size": limiter.LEASE_SIZE,
        "share": limiter.LEASE_SHARE,
        "most": limiter.LEASE_MOST,
        "expires": limiter.LEASE_EXPIRES,
    }
    assert {name: getattr(lease, name) for name in assumed} == assumed


def test_a_system_with_the_filter_offers_the_algorithms_and_defaults_of_the_contract() -> None:
    settings = systems.load("shop-behind-two-balancers").settings
    assert settings["algorithm"].allowed == ["no_limiter", *limiter.ALGORITHMS]
    assert settings["synchronisation"].allowed == ["per_request", *limiter.LEASES]
    assert settings["lease_holder"].allowed == list(limiter.LEASE_HOLDERS)
    assert settings["sub_windows"].default == limiter.SUB_WINDOWS
    assert settings["lease_share"].default == limiter.LEASE_SHARE
    assert Duration.parse(str(settings["lease_expires"].default)) == limiter.LEASE_EXPIRES


@pytest.mark.parametrize(("window_us", "band_us"), [(60_000_000, 20_000), (20_001, 20_000), (20_000, 19_999), (10, 9)])
def test_the_judge_takes_a_band_of_20_ms_or_less_than_the_window(window_us: int, band_us: int) -> None:
    limit = EnforcedLimit(algorithm="sliding_window_log", limit=3, window=Duration(window_us), store="redis")
    assert rule_of(limit) == LimitRule(window_us, 3, band_us)
