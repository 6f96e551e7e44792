"""Who calls whom, what a request waits for, what an operation repeats: on hand-made traces whose answers are known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pandas as pd
import pytest
from tests.support.spans import span, table

from patternbench.traces.analyze.critical import critical_path, shares
from patternbench.traces.analyze.edges import CalleeKind, edges
from patternbench.traces.analyze.sequence import Loop, SequenceStep, flat, steps, typical
from patternbench.traces.analyze.shapes import repeated, shapes
from patternbench.traces.analyze.trees import TracedRequest, forest

SQL = {"database": "mariadb", "schema": "core", "statement": "SELECT a FROM line WHERE id = ?"}


def frame(rows: Sequence[tuple[object, ...]]) -> pd.DataFrame:
    return pd.DataFrame(rows)


def requests(*spans: dict[str, object]) -> list[TracedRequest]:
    return list(forest(table(*spans)).requests)


def order(lines: int = 6, trace: str = "t", slow: float = 1.0, failed: bool = False) -> Iterator[dict[str, object]]:
    """A request that reads each line of an order by a query of 2 ms, and asks the stock in 8 ms, 4 of them there."""
    own = {"trace_id": trace}
    yield span(
        f"{trace}root", "server", "shop", (0, slow * (20 * lines + 10)), method="GET", route="/orders/{id}", **own
    )
    for line in range(lines):
        at = 20 * line
        ids = [f"{trace}{name}{line}" for name in ("query", "ask", "take", "read")]
        yield span(ids[0], "client", "shop", (at + 2, at + 4), f"{trace}root", **SQL, **own)
        yield span(ids[1], "client", "shop", (at + 5, at + 13), f"{trace}root", method="GET", **own)
        yield span(
            ids[2],
            "server",
            "stock",
            (at + 7, at + 11),
            ids[1],
            route="/stock/{id}",
            method="GET",
            status=500 if failed else 200,
            **own,
        )
        yield span(ids[3], "client", "stock", (at + 8, at + 9), ids[2], **{**SQL, "schema": "stock"}, **own)


def test_the_edges_say_who_calls_whom_how_often_how_long_and_how_many_fail() -> None:
    found = frame(edges(requests(*order(trace="a"), *order(trace="b", lines=2, failed=True)))).set_index(
        ["caller", "callee"]
    )
    assert list(found.index) == [
        ("load", "shop"),
        ("shop", "mariadb core"),
        ("shop", "stock"),
        ("stock", "mariadb stock"),
    ]
    assert [kind.value for kind in found["kind"]] == ["service", "database", "service", "database"]
    assert found["calls"].tolist() == [2, 8, 8, 8]
    assert found["per_request"].tolist() == [1, 4, 4, 4]
    assert found["errors"].tolist() == [0, 0, 0, 0]
    assert found.loc[("shop", "stock"), ["p50", "p95"]].tolist() == pytest.approx([0.008, 0.008])
    assert found.loc[("load", "shop"), "p50"] == pytest.approx((0.130 + 0.050) / 2)


def test_a_call_fails_where_its_caller_says_so() -> None:
    spans = [{**one, "error": one["span_id"] == "task0"} for one in order()]
    found = frame(edges(requests(*spans))).set_index(["caller", "callee"])
    assert found.loc[("shop", "stock"), "errors"] == pytest.approx(1 / 6)


def test_a_message_goes_to_its_queue_and_from_there_to_whoever_takes_it() -> None:
    _, sent, taken = edges(
        requests(
            span("root", "server", "shop", (0, 50)),
            span("send", "producer", "shop", (10, 20), "root", messaging="rabbitmq", destination="orders"),
            span("take", "consumer", "mail", (60, 90), "send"),
        )
    )
    assert (sent.caller, sent.callee, sent.kind) == ("shop", "rabbitmq orders", CalleeKind.QUEUE)
    assert (taken.caller, taken.callee, taken.kind) == ("rabbitmq orders", "mail", CalleeKind.SERVICE)


def test_the_critical_path_leaves_out_what_was_done_next_to_it() -> None:
    (request,) = requests(
        span("root", "server", "shop", (0, 100)),
        span("short", "client", "shop", (10, 40), "root", peer="a"),
        span("long", "client", "shop", (10, 80), "root", peer="b"),
        span("last", "client", "shop", (80, 90), "root", **SQL),
    )
    path = {node.span_id: 0 for node, _ in critical_path(request.root)}
    for node, length in critical_path(request.root):
        path[node.span_id] += length // 1_000_000
    assert path == {"root": 20, "long": 70, "last": 10}


def test_shares_of_the_critical_path_name_the_way_between_services_and_add_up() -> None:
    found = frame(shares(requests(*order()))).set_index("owner")
    assert found["seconds"].to_dict() == pytest.approx(
        {"shop": 0.070, "mariadb core": 0.012, "shop → stock": 0.024, "stock": 0.018, "mariadb stock": 0.006}
    )
    assert found["share"].sum() == pytest.approx(1)
    assert set(found["operation"]) == {"GET /orders/{id}"}


def test_what_is_asked_once_for_each_row_is_named_with_its_operation_and_how_often() -> None:
    calls, queries = repeated(requests(*order(trace="a"), *order(trace="b"), *order(trace="c", lines=40)))
    assert (calls.operation, calls.caller, calls.callee) == ("GET /orders/{id}", "shop", "stock")
    assert (calls.what, calls.times, calls.at_once) == ("GET /stock/{id}", 6, 1)
    assert (queries.what, queries.callee, queries.times) == (SQL["statement"], "mariadb core", 6)
    whole = 2 * 0.130 + 0.810
    assert (calls.seconds, calls.share) == pytest.approx((52 * 0.008 / 3, 52 * 0.008 / whole))


def test_four_times_the_same_is_no_repetition_and_neither_is_what_few_requests_do() -> None:
    assert not repeated(requests(*order(lines=4)))
    assert not repeated(requests(*order(trace="a", lines=9), *order(trace="b", lines=1), *order(trace="c", lines=1)))


def test_the_same_query_of_many_callers_is_no_repetition_of_any() -> None:
    assert {one.caller for one in repeated(requests(*order()))} == {"shop"}


def test_calls_made_at_once_are_reported_from_calls_one_after_another() -> None:
    fan = [span(f"c{n}", "client", "shop", (n, 50 + n), "root", peer="b", method="GET", path="/x") for n in range(7)]
    (found,) = repeated(requests(span("root", "server", "shop", (0, 100)), *fan))
    assert (found.times, found.at_once) == (7, 7)


def test_the_shape_of_an_operation_is_how_chatty_deep_and_wide_it_is() -> None:
    (shape,) = shapes(requests(*order()))
    assert (shape.operation, shape.requests, shape.calls) == ("GET /orders/{id}", 1, 18)
    assert (shape.services, shape.depth, shape.widest_caller, shape.widest, shape.at_once) == (2, 2, "shop", 12, 1)


def test_a_typical_request_is_reported_step_by_step_with_its_repetitions_folded() -> None:
    usual = typical(requests(*order(trace="a", slow=3), *order(trace="b", slow=2), *order(trace="c"), *order(1, "d")))
    assert usual.root.duration == 260_000_000
    (loop,) = steps(usual)
    assert isinstance(loop, Loop)
    query, ask = loop.block
    assert (loop.times, query.what, ask.what, ask.callee) == (6, SQL["statement"], "GET /stock/{id}", "stock")
    (read,) = ask.inner
    assert isinstance(read, SequenceStep)
    assert (read.caller, read.callee, read.seconds) == ("stock", "mariadb stock", pytest.approx(0.001))
    assert [step.callee for step in flat(steps(usual))] == ["mariadb core", "stock", "mariadb stock"]


def test_a_well_of_spans_is_incomplete_and_blows_nothing_up() -> None:
    chain = [span(str(n), "server", f"s{n % 2}", (0, 9), str(n - 1) if n else "") for n in range(5000)]
    assert forest(table(*chain)).incomplete == 1


def test_nothing_traced_gives_nothing() -> None:
    assert [edges([]), shares([]), repeated([]), shapes([])] == [[], [], [], []]
