"""A model's services from traces: their own times, whom they call how often, together or one after another."""

from __future__ import annotations

import pandas as pd
import pytest
from tests.support.spans import span, table

from patternbench.cli.traced_graph import graph_of, name_of
from patternbench.terms.problems import InputError
from patternbench.traces.analyze.trees import TracedRequest, forest

SERVER, CLIENT = "server", "client"


def requests(*traces: list[dict[str, object]]) -> list[TracedRequest]:
    """The requests of several traces of spans."""
    spans = [{**one, "trace_id": str(number)} for number, trace in enumerate(traces) for one in trace]
    frame: pd.DataFrame = table(*spans)
    return list(forest(frame).requests)


def shop(number: int, *calls: tuple[str, float, float], ends: float = 20) -> list[dict[str, object]]:
    """A request of the shop, which calls others from and to so many ms; a store does not trace itself."""
    made = [span(f"r{number}", SERVER, "Shop", (0, ends))]
    for place, (callee, begins, over) in enumerate(calls):
        name = f"c{number}-{place}"
        made.append(span(name, CLIENT, "Shop", (begins, over), parent=f"r{number}", peer=callee))
        if callee != "store":
            made.append(span(f"s{number}-{place}", SERVER, callee, (begins + 1, over - 1), parent=name))
    return made


def test_own_times_are_what_calls_do_not_cover() -> None:
    found = graph_of(requests(shop(1, ("stock", 2, 8), ("prices", 10, 15))))
    times = {name: one.times.quantiles for name, one in found.services.items()}
    assert found.entry == "shop"
    assert {name: points[0].time.us for name, points in times.items() if points} == {
        "shop": 9_000,
        "stock": 4_000,
        "prices": 3_000,
    }


def test_calls_one_after_another_are_stages_and_those_that_overlap_are_together() -> None:
    apart = graph_of(requests(shop(1, ("stock", 2, 8), ("prices", 10, 15)))).services["shop"].calls
    assert apart is not None
    assert [[call.to for call in stage.together] for stage in apart] == [["stock"], ["prices"]]
    overlapping = graph_of(requests(shop(1, ("stock", 2, 8), ("prices", 3, 15)))).services["shop"].calls
    assert overlapping is not None
    assert [[call.to for call in stage.together] for stage in overlapping] == [["stock", "prices"]]


def test_a_callee_is_called_as_often_as_on_average() -> None:
    traced = requests(
        shop(1, ("stock", 1, 3), ("stock", 4, 6), ("prices", 7, 9)), shop(2, ("stock", 1, 3)), shop(3), shop(4)
    )
    calls = [call for stage in graph_of(traced).services["shop"].calls or [] for call in stage.together]
    assert [(call.to, call.share) for call in calls] == [("stock", 75.0), ("prices", 25.0)]
    twice = requests(shop(1, ("stock", 1, 3), ("stock", 4, 6)), shop(2, ("stock", 1, 3)))
    calls = [call for stage in graph_of(twice).services["shop"].calls or [] for call in stage.together]
    assert [(call.to, call.share) for call in calls] == [("stock", 75.0), ("stock", 75.0)]


def test_a_callee_without_spans_takes_the_time_of_the_calls_to_it() -> None:
    found = graph_of(requests(shop(1, ("store", 2, 8)))).services["store"]
    points = found.times.quantiles or []
    assert (points[0].time.us, found.calls) == (6_000, None)


def test_what_traces_do_not_show_is_said() -> None:
    found = graph_of(requests(shop(1, ("store", 2, 8))))
    assert found.not_identified == (
        "workers of each service: traces show no limit",
        "times of shop, store: fewer than 30 calls were traced",
    )


def test_requests_of_nobody_and_of_two_entries_are_refused() -> None:
    with pytest.raises(InputError, match="no request was traced whole"):
        graph_of([])
    other = [span("x", SERVER, "other", (0, 5))]
    with pytest.raises(InputError, match="several services"):
        graph_of(requests(shop(1), other))


def test_a_name_becomes_one_that_a_model_can_have() -> None:
    assert name_of("Order Service/v2") == "order-service-v2"
