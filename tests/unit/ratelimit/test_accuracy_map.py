"""An accuracy map holds every combination that means something, once, in a fixed order."""

import pytest

from patternbench.ratelimit.plan.accuracy_map import AT_ONCE, ClientGroup, Map, MapLease, left_out, scenarios
from patternbench.study.model.limiter import ALGORITHMS
from patternbench.terms.problems import InputError
from patternbench.terms.units import Duration

LATE = Duration.parse("100ms")
FACTORS = ("arrivals", "algorithm", "synchronisation", "balancers", "staleness_us")


def test_no_scenario_is_there_twice() -> None:
    planned = scenarios(Map(balancers=(1, 2, 64), staleness=(AT_ONCE, LATE)))
    seen = [tuple(each[name] for name in FACTORS) for each in planned]
    assert len(set(seen)) == len(seen)
    assert [each["id"] for each in planned] == list(range(len(planned)))


def test_the_same_map_gives_the_same_scenarios() -> None:
    assert scenarios(Map()) == scenarios(Map())


def test_what_computes_times_is_not_leased_and_that_is_said() -> None:
    limit_map = Map(synchronisations=("request", "eager"), staleness=(AT_ONCE,))
    leased = {each["algorithm"] for each in scenarios(limit_map) if each["synchronisation"] == "eager"}
    assert leased == set(ALGORITHMS) - {"gcra", "leaky_bucket"}
    assert left_out(limit_map) == ["leaky_bucket, gcra with eager: they compute times and can't be leased"]


def test_a_staleness_means_copies_and_none_means_one_store() -> None:
    planned = scenarios(
        Map(algorithms=("gcra",), synchronisations=("request",), balancers=(2,), staleness=(AT_ONCE, LATE))
    )
    stores = {each["staleness_us"]: each["store"] for each in planned}
    assert stores == {0: "central", 100_000: "crdt"}


def test_one_balancer_alone_is_simulated_once_whatever_the_staleness() -> None:
    planned = scenarios(
        Map(
            algorithms=("gcra",), synchronisations=("request",), balancers=(1,), staleness=(LATE,), arrivals=("steady",)
        )
    )
    assert [each["staleness_us"] for each in planned] == [0]


def test_a_group_is_clients_times_their_rate() -> None:
    assert ClientGroup.parse("75x30") == ClientGroup(75, 30)
    assert ClientGroup.parse("5x0.5") == ClientGroup(5, 0.5)


@pytest.mark.parametrize("text", ["70", "x30", "0x30", "5x0", "5x-1", "5xmany", "-1x3"])
def test_a_group_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        ClientGroup.parse(text)


def test_a_map_in_which_nothing_means_anything_is_refused() -> None:
    with pytest.raises(InputError, match=r"--synchronisation: leaves nothing to simulate: gcra can't be leased"):
        Map(algorithms=("gcra",), synchronisations=("lazy", "eager"))


def test_a_map_of_more_requests_than_anybody_waits_for_is_refused() -> None:
    with pytest.raises(InputError, match="too many requests"):
        Map(clients=(ClientGroup(1_000_000, 1_000_000),))


def test_everything_wrong_with_a_map_is_said_at_once() -> None:
    with pytest.raises(InputError) as raised:
        Map(
            algorithms=("tokens",),
            synchronisations=("sometimes",),
            arrivals=("late",),
            balancers=(0, 65),
            limit=0,
            routing="home",
            tolerance=Duration.parse("1m"),
            duration=AT_ONCE,
            lease=MapLease(size="huge", share=0, most=0),
        )
    message = str(raised.value)
    for option in (
        "algorithm",
        "synchronisation",
        "arrivals",
        "balancers",
        "limit",
        "routing",
        "tolerance",
        "duration",
    ):
        assert f"--{option}" in message
    for option in ("lease-size", "lease-share", "lease-most"):
        assert f"--{option}" in message


def test_the_clients_of_a_scenario_arrive_as_the_scenario_says() -> None:
    planned = scenarios(Map(arrivals=("steady", "bursty"), staleness=(AT_ONCE,)))
    assert {each["arrivals"] for each in planned} == {"steady", "bursty"}
    for each in planned:
        assert {group["arrivals"] for group in each["clients"]} == {each["arrivals"]}
