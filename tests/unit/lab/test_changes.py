"""What must be started for the next scenario is decided from launches alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from patternbench.lab.host.calls import Call
from patternbench.lab.host.changes import every_round, fixed, starts
from patternbench.lab.host.launch import File, FreshStart, Launch, LiveCall, LiveFile, Preparation, Reset
from patternbench.lab.host.ready import LogLine

SHOP = Launch("process", "shop", ("shop",), LogLine("up"), url="http://127.0.0.1:1")


def calling(name: str, *others: str) -> Launch:
    """A component that refers to others in its command."""
    return replace(SHOP, name=name, command=(name, *(f"${{{other}.url}}" for other in others)))


def with_limit(limit: int, name: str = "limit") -> Launch:
    return replace(SHOP, live=(LiveCall(name, Call("PUT", "${self.url}/limit", body={"limit": limit})),))


def with_file(content: str, signal: str = "SIGHUP") -> Launch:
    return replace(SHOP, files=(File("a.conf", content), File("b.conf", "b")), live=(LiveFile("a.conf", signal),))


def up(*launches: Launch) -> dict[str, Launch]:
    return {launch.name: launch for launch in launches}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (SHOP, SHOP),
        (with_limit(1), with_limit(2)),
        (with_file("one"), with_file("two")),
        (SHOP, replace(SHOP, reset=(FreshStart(),))),
    ],
    ids=["nothing", "a live call", "a live file", "how it is reset"],
)
def test_a_component_stays_up_where_nothing_but_this_differs(before: Launch, after: Launch) -> None:
    assert starts(up(before), [after]) == {}
    assert fixed(before) == fixed(after)


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        (SHOP, replace(SHOP, command=("other",)), "its command changed"),
        (SHOP, replace(SHOP, command=("other",), env={"A": "1"}), "its command and env changed"),
        (with_file("one"), replace(with_file("one"), files=(File("a.conf", "one"), File("b.conf", "c"))), "its files"),
        (with_file("one"), with_file("one", signal="SIGUSR1"), "its live changed"),
        (with_limit(1), SHOP, "its live changed"),
        (with_limit(1), with_limit(1, "other"), "its live changed"),
        (SHOP, replace(SHOP, via={"db": "proxy"}), "its via changed"),
    ],
    ids=["command", "two fields", "another file", "signal", "a setting that goes", "another setting", "a proxy"],
)
def test_a_component_is_started_where_anything_else_differs(before: Launch, after: Launch, why: str) -> None:
    assert starts(up(before), [after])["shop"].startswith(why)


def test_those_that_refer_to_a_started_component_are_started_too_however_far_they_are() -> None:
    order = [SHOP, calling("front", "shop"), calling("edge", "front"), calling("other")]
    before = up(*order)
    assert starts(before, [replace(SHOP, command=("other",)), *order[1:]]) == {
        "shop": "its command changed",
        "front": "shop, which it refers to, was started",
        "edge": "front, which it refers to, was started",
    }
    assert starts(before, order, {"front": "it died"}).keys() == {"front", "edge"}


def test_a_component_that_is_new_is_started_and_one_that_goes_is_not() -> None:
    assert starts(up(calling("old")), [SHOP], {"old": "it died"}) == {"shop": "it was not up"}


@pytest.mark.parametrize("reset", [(), (Call("POST", "${self.url}/reset"),), (Preparation(("true",)),)])
def test_what_says_how_it_is_reset_stays_up_in_a_system_that_keeps_a_log(reset: tuple[Reset, ...]) -> None:
    balancer = replace(calling("balancer"), log="decisions")
    unsaid = "its system keeps a log, and nothing else resets it"
    assert every_round([SHOP, balancer]) == {"shop": unsaid, "balancer": "its log belongs to one round"}
    assert every_round([replace(SHOP, reset=reset), balancer]).keys() == {"balancer"}


def test_without_a_log_only_what_asks_for_it_is_started_for_every_round() -> None:
    renewed = replace(calling("cache"), reset=(Preparation(("true",)), FreshStart()))
    assert every_round([SHOP, renewed]) == {"cache": "its reset is a restart"}
