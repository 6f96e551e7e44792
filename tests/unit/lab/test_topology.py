"""The links between components: in which order they start, and what can be put on a link."""

from __future__ import annotations

import pytest

from patternbench.lab.host.launch import Launch
from patternbench.lab.host.ready import Port
from patternbench.lab.host.references import producers
from patternbench.lab.topology import EDGE, Link, Topology, in_order
from patternbench.terms.problems import InputError

READY = Port("http")


def launch(name: str, *calls: str, after: tuple[str, ...] = ()) -> Launch:
    command = ("run", *(f"${{{other}.url}}" for other in calls))
    return Launch("process", name, command, READY, after=after, url=f"http://{name}")


SHOP = Topology((launch("balancer", "shop", "redis"), launch("shop"), launch("redis")), ("balancer",))


def test_what_a_component_calls_starts_before_it_whatever_the_order_given() -> None:
    order = [each.name for each in in_order(SHOP.launches)]
    assert order.index("balancer") == 2
    assert set(order) == {"balancer", "shop", "redis"}


def test_a_component_that_is_only_waited_for_starts_first_too() -> None:
    order = in_order([launch("aggregator", after=("registry",)), launch("registry")])
    assert [each.name for each in order] == ["registry", "aggregator"]


def test_every_way_of_a_system_is_known() -> None:
    assert [str(link) for link in SHOP.links()] == ["edge -> balancer", "balancer -> shop", "balancer -> redis"]


def test_a_proxy_on_a_way_is_called_by_its_consumer_alone() -> None:
    two = Topology((*SHOP.launches, launch("other", "shop")), ("balancer", "other"))
    found = {each.name: each for each in two.through(Link("balancer", "shop"), launch("slow", "shop")).launches}
    assert producers(found["balancer"]) == ["slow", "redis"]
    assert producers(found["other"]) == ["shop"]
    assert producers(found["slow"]) == ["shop"]


def test_a_proxy_at_the_edge_takes_the_load_of_its_endpoint() -> None:
    found = SHOP.through(Link(EDGE, "balancer"), launch("front", "balancer"))
    assert found.endpoints == ("front",)
    assert [each.name for each in in_order(found.launches)][-1] == "front"


def test_a_way_that_there_is_not_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(InputError) as refused:
        SHOP.through(Link("shop", "redis"), launch("slow"))
    (problem,) = refused.value.problems
    assert problem.value == "shop -> redis"
    assert "`balancer -> redis`" in problem.allowed


@pytest.mark.parametrize(
    ("launches", "words"),
    [
        ([launch("a", "b"), launch("b", "a")], "wait for each other: "),
        ([launch("a", "a")], "wait for each other: a -> a"),
        ([launch("a"), launch("a")], "two components are called `a`"),
        ([launch("a", "shpo"), launch("shop")], "refers to `shpo`, which is not among the components in use"),
    ],
)
def test_components_that_cannot_be_put_in_an_order_are_refused(launches: list[Launch], words: str) -> None:
    with pytest.raises(InputError, match=words):
        in_order(launches)


def test_a_component_that_is_misspelt_is_guessed() -> None:
    (problem,) = Topology((launch("a", "shpo"), launch("shop")), ("a",)).problems()
    assert problem.hint == "did you mean `shop`?"


def test_an_endpoint_that_is_no_component_is_a_problem() -> None:
    (problem,) = Topology((launch("shop"),), ("balancer",)).problems()
    assert problem.path == "endpoint"


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("${db.user}", "write `${db.url.user}`, a part of its URL"),
        ("${db.core.pasword}", ""),
        ("${db.cor}", "did you mean `core`?"),
        ("${self.port.htp}", "did you mean `port.http`?"),
        ("${self.secret.password}", "write `${self.url.password}`, a part of its URL"),
    ],
)
def test_a_reference_to_a_part_that_no_component_has_is_refused_with_those_that_there_are(text: str, hint: str) -> None:
    database = Launch(
        "postgres", "db", ("run",), READY, url="postgresql://u:p@h/d", endpoints={"core": "postgresql://h"}
    )
    asking = Launch("process", "api", ("run",), READY, env={"DB": text}, ports={"http": 0}, url="http://api")
    (problem,) = Topology((asking, database), ("api",)).problems()
    assert (problem.message, problem.path, problem.hint) == (f"it refers to `{text}`, which doesn't exist", "api", hint)
    known = ["`${self.port.http}`"] if "self" in text else ["`${db.url}`", "`${db.core}`"]
    assert all(name in problem.allowed for name in known)


@pytest.mark.parametrize(
    "text", ["${db.url.user}", "${db.core}", "${db.core.address}", "${self.said.up}", "${self.folder}"]
)
def test_a_reference_to_what_a_component_has_is_taken(text: str) -> None:
    database = Launch(
        "postgres", "db", ("run",), READY, url="postgresql://u:p@h/d", endpoints={"core": "postgresql://h"}
    )
    asking = Launch("process", "api", ("run",), READY, env={"DB": text}, url="http://api")
    assert not list(Topology((asking, database), ("api",)).problems())
