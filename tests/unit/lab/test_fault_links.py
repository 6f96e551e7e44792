"""Which links of a system need a fault proxy, and which faults cannot be in it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.support.launches import settled

from patternbench.lab import systems, topologies
from patternbench.lab.faults.links import links_of, needed, problems
from patternbench.lab.faults.replicas import at_each
from patternbench.lab.host.launch import Launch
from patternbench.lab.host.ready import Port
from patternbench.lab.topologies import proxied, proxy_name
from patternbench.lab.topology import EDGE, Link, Topology
from patternbench.study.faults import Fault

TARGET, SHOP = "target", "shop-behind-two-balancers"


def topology(name: str) -> Topology:
    return topologies.of_file(systems.load(name), {})


def faults(*given: dict[str, Any]) -> list[Fault]:
    return [Fault.model_validate(each) for each in given]


def needs(system: str, *given: dict[str, Any]) -> list[str]:
    return [str(link) for link in needed(faults(*given), topology(system))]


def refused(system: str, *given: dict[str, Any]) -> list[str]:
    return [str(problem) for problem in problems(faults(*given), topology(system))]


def test_what_envoy_acts_exactly_at_the_edge_needs_no_proxy() -> None:
    assert needs(TARGET) == []
    assert needs(TARGET, {"abort": {"percentage": [0, 20]}}, {"delay": {"percentage": 5, "duration": "2ms"}}) == []


@pytest.mark.parametrize(
    "fault",
    [
        {"delay": {"percentage": 5, "duration": ["2ms", "250us"]}},
        {"abort": {"percentage": 0.00001}},
        {"reset": {"percentage": 5}},
        {"refuse": {}},
    ],
)
def test_what_envoy_cannot_do_at_the_edge_is_a_proxys_there_for_all_faults_alike(fault: dict[str, Any]) -> None:
    plain = {"abort": {"percentage": 20}, "when": {"for": "1s"}}
    assert needs(TARGET, plain, fault) == ["edge -> envoy"]


def test_two_of_a_kind_at_the_edge_are_a_proxys_since_envoy_has_one_of_each() -> None:
    first, second = (
        {"abort": {"percentage": 5}, "when": {"for": "1s"}},
        {"abort": {"percentage": 5}, "when": {"from": "1s"}},
    )
    assert needs(TARGET, first, second) == ["edge -> envoy"]


def test_a_system_without_envoy_has_a_proxy_before_each_place_that_load_goes_to() -> None:
    assert needs(SHOP, {"abort": {"percentage": 5}}) == ["edge -> balancer-1", "edge -> balancer-2"]


def test_a_way_between_components_has_its_own_proxy_and_the_edge_stays_envoys() -> None:
    assert needs(TARGET, {"stall": {"percentage": 5}, "where": "envoy -> target"}, {"abort": {"percentage": 5}}) == [
        "envoy -> target"
    ]
    assert needs(SHOP, {"partition": {}, "where": "balancer-1 -> redis"}) == ["balancer-1 -> redis"]


def test_a_fault_on_a_component_needs_no_proxy() -> None:
    assert needs(SHOP, {"freeze": {}, "where": "redis"}, {"crash": {}, "where": "shop"}) == []


def test_a_partition_cuts_the_way_back_too_and_a_delay_does_not() -> None:
    both = [Link("a", "b"), Link("b", "a"), Link("a", "c")]
    partition, delay = faults(
        {"partition": {}, "where": "a -> b"}, {"delay": {"percentage": 5, "duration": "1ms"}, "where": "a -> b"}
    )
    assert links_of(partition, both) == both[:2]
    assert links_of(delay, both) == both[:1]


def test_a_proxy_stands_on_its_way_and_on_no_other() -> None:
    link = Link("balancer-1", "redis")
    found = {launch.name: launch for launch in proxied(topology(SHOP), [link]).launches}
    assert found["balancer-1"].via == {"redis": proxy_name(link)}
    assert found["balancer-2"].via == {}
    assert proxy_name(link) == "balancer-1-to-redis"


SEVERAL = Topology(
    (
        Launch("process", "shop", ("run", "${db.core.user}", "${db.url}", "${db.core}"), Port("http"), url="http://a"),
        Launch("mariadb", "db", ("run",), Port("mysql"), url="mariadb://b", endpoints={"core": "mariadb://c"}),
    ),
    ("shop",),
)


def test_a_fault_on_a_way_acts_at_every_address_that_is_called_there() -> None:
    (stall,) = faults({"stall": {"percentage": 5}, "where": "shop -> db"})
    links = needed([stall], SEVERAL)
    assert links == [Link("shop", "db", "core"), Link("shop", "db")]
    assert list(dict.fromkeys(map(str, links))) == ["shop -> db"]
    assert [proxy_name(link) for link in links_of(stall, links)] == ["shop-to-db-at-core", "shop-to-db"]


def test_a_proxy_stands_in_front_of_the_address_that_is_called_and_of_no_other() -> None:
    found = {launch.name: launch for launch in proxied(SEVERAL, [Link("shop", "db", "core")]).launches}
    proxy, shop = found["shop-to-db-at-core"], found["shop"]
    assert "${db.core.address}" in proxy.command
    assert proxy.url == "${db.core.scheme}://${db.core.login}127.0.0.1:${self.port.link}${db.core.path}"
    urls = {"shop-to-db-at-core": "mariadb://core@proxy/core", "db": "mariadb://own@db/own"}
    assert settled(shop, urls).command == ("run", "core", "mariadb://own@db/own", "mariadb://core@proxy/core")


def test_an_endpoint_of_a_proxy_is_never_taken_for_one_of_what_is_behind_it() -> None:
    shop, db = SEVERAL.launches
    asks = replace(shop, command=("run", "${db.url}", "${db.admin}"))
    here = Topology((asks, replace(db, endpoints={"admin": "http://admin"})), ("shop",))
    found = {launch.name: launch for launch in proxied(here, [Link("shop", "db")]).launches}
    urls = {"shop-to-db": "mariadb://proxy", "shop-to-db.admin": "tcp://wrong", "db.admin": "http://admin"}
    assert settled(found["shop"], urls).command == ("run", "mariadb://proxy", "http://admin")


def test_a_fault_on_a_way_of_gossip_is_refused_since_datagrams_pass_by_its_proxy() -> None:
    fault = {"stall": {"percentage": 5}, "where": "sidecar-2 -> sidecar-1"}
    crdt = topologies.of_file(systems.load(SHOP), {"store": "crdt"})
    (problem,) = problems(faults(fault), crdt)
    assert problem.message == "on this link members also gossip by datagrams, which no fault proxy handles"


def test_a_proxy_at_the_edge_is_where_load_goes() -> None:
    links = [Link(EDGE, "balancer-1"), Link(EDGE, "balancer-2")]
    assert proxied(topology(SHOP), links).endpoints == ("edge-to-balancer-1", "edge-to-balancer-2")


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ({"freeze": {}, "where": "shp"}, "faults[0].where: there is no such component in the system (got 'shp')"),
        ({"stall": {"percentage": 5}, "where": "balancer-1 -> shp"}, "did you mean `balancer-1 -> shop`?"),
        ({"abort": {"percentage": 5}, "where": "balancer-1 -> redis"}, "only possible with HTTP"),
        (
            {"flush": {}, "where": "shop"},
            "flush empties a cache, and shop doesn't speak Redis's protocol (got 'shop'); allowed: redis",
        ),
        ({"flush": {}, "where": "rediss"}, "did you mean `redis`?"),
    ],
)
def test_a_fault_that_would_act_nowhere_is_refused_at_its_place(fault: dict[str, Any], words: str) -> None:
    (problem,) = refused(SHOP, fault)
    assert words in problem


def test_faults_that_can_be_are_not_refused() -> None:
    assert (
        refused(
            SHOP,
            {"freeze": {}, "where": "redis"},
            {"flush": {}, "where": "redis"},
            {"delay": {"percentage": 5, "duration": "1us"}, "where": "balancer-2 -> redis"},
        )
        == []
    )
    assert refused(TARGET, {"abort": {"percentage": 5}}, {"abort": {"percentage": 5}, "where": "envoy -> target"}) == []


REPLICAS = {"front": ["front"], "shop": ["shop-1", "shop-2"]}


@pytest.mark.parametrize(
    ("where", "places"),
    [
        ("edge", ["edge"]),
        ("front -> shop", ["front -> shop-1", "front -> shop-2"]),
        ("front -> shop-2", ["front -> shop-2"]),
        ("shop -> front-1", ["shop-1 -> front", "shop-2 -> front"]),
        ("front -> nobody", ["front -> nobody"]),
    ],
)
def test_a_fault_on_ways_of_an_entry_acts_at_each_of_its_replicas(where: str, places: list[str]) -> None:
    (fault,) = faults({"reset": {"percentage": 5}, "where": where})
    assert [one.where for one in at_each(fault, REPLICAS)] == places


@pytest.mark.parametrize(
    ("where", "places"), [("shop", ["shop-1", "shop-2"]), ("shop-2", ["shop-2"]), ("front-1", ["front"]), ("x", ["x"])]
)
def test_a_fault_of_an_entry_acts_on_each_of_its_replicas(where: str, places: list[str]) -> None:
    (fault,) = faults({"freeze": {}, "where": where, "when": {"for": "1s"}})
    assert [one.where for one in at_each(fault, REPLICAS)] == places


def test_a_flush_in_a_system_without_a_cache_is_refused_by_the_components_name() -> None:
    (problem,) = refused(TARGET, {"flush": {}, "where": "target", "when": {"for": "1s"}})
    assert "flush empties a cache, and target doesn't speak Redis's protocol" in problem
    assert "allowed: none of this system" in problem
