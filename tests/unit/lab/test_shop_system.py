"""What makes up the shop at the levels of its settings; nothing is started."""

from __future__ import annotations

import pytest

from patternbench.lab import systems, topologies
from patternbench.lab.host.launch import Launch, LiveCall
from patternbench.lab.topology import Topology


def shop(**settings: object) -> Topology:
    return topologies.of_file(systems.load("shop"), settings)


def launch(name: str, **settings: object) -> Launch:
    return next(one for one in shop(**settings).launches if one.name == name)


def numbered(name: str, count: int) -> list[str]:
    return [f"{name}-{number}" for number in range(1, count + 1)]


@pytest.mark.parametrize("limits", ["together", "by_route", "by_cost"])
@pytest.mark.parametrize("balancers", [2, 4])
def test_the_shop_has_as_many_balancers_and_links_to_them_as_its_setting_says(limits: str, balancers: int) -> None:
    topology = shop(limits=limits, balancers=balancers)
    names = [one.name for one in topology.launches]
    assert [name for name in names if name.startswith("balancer")] == numbered("balancer", balancers)
    assert list(topology.endpoints) == numbered("client", balancers)


@pytest.mark.parametrize("balancers", [2, 4])
def test_each_balancer_asks_its_own_sidecar_and_all_sidecars_join_the_first(balancers: int) -> None:
    launches = {one.name: one for one in shop(store="crdt", balancers=balancers).launches}
    sidecars = numbered("sidecar", balancers)
    assert [name for name in launches if name.startswith("sidecar")] == sidecars
    for balancer, sidecar in zip(numbered("balancer", balancers), sidecars, strict=True):
        (rules,) = [str(file.content) for file in launches[balancer].files if file.path == "plan.json"]
        assert [name for name in sidecars if name in rules] == [sidecar]
        assert f"'balancers': {balancers}" in rules
    assert ["--join" in launches[name].command for name in sidecars] == [False] + [True] * (balancers - 1)


@pytest.mark.parametrize("name", ["persistence", "auth", "recommender", "image", "webui"])
def test_the_limit_of_requests_in_progress_of_a_service_changes_while_it_runs(name: str) -> None:
    plain, shedding = launch(name), launch(name, concurrency_limit=4)
    assert plain.command == shedding.command
    calls = [one.call for one in shedding.live if isinstance(one, LiveCall)]
    assert {"limit": 4} in [call.body for call in calls]
    assert {"limit": 0} in [one.call.body for one in plain.live if isinstance(one, LiveCall)]
