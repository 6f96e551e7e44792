"""Calls are counted by type, and times shared, as docs/traces.md says: on hand-made traces whose answers are known."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.spans import span, table

from patternbench.traces.analyze.calls import own_times, per_request, target_of, whose_time
from patternbench.traces.analyze.edges import CalleeKind, kind_of
from patternbench.traces.analyze.trees import forest, pattern_of

SQL = {"database": "mariadb", "schema": "core", "statement": "SELECT a FROM b WHERE c = ?"}

SHOP = table(
    span("root", "server", "shop", (0, 100), method="GET", route="/orders/{id}", in_memory_calls=7.0),
    span("find", "client", "shop", (10, 30), "root", **SQL),
    span("ask", "client", "shop", (40, 90), "root", peer="127.0.0.1:8081"),
    span("take", "server", "stock", (50, 80), "ask", route="/stock", method="GET", in_memory_calls=3.0),
    span("read", "client", "stock", (55, 75), "take", **SQL),
)
"""A request of 100 ms: 20 ms in a database, then 50 ms for a call that takes 30 ms there, 20 of them in a database."""


def only(frame: pd.DataFrame) -> pd.Series:
    rows = per_request(forest(frame).requests)
    assert len(rows) == 1
    return rows.iloc[0]


def without(frame: pd.DataFrame, span_id: str) -> pd.DataFrame:
    return frame[frame["span_id"] != span_id]


def changed(frame: pd.DataFrame, span_id: str, **values: object) -> pd.DataFrame:
    frame = frame.copy()
    for name, value in values.items():
        frame.loc[frame["span_id"] == span_id, name] = value
    return frame


def test_a_hand_made_request_has_the_calls_and_times_that_were_put_into_it() -> None:
    row = only(SHOP)
    assert row["operation"] == "GET /orders/{id}"
    assert (row["in_memory_calls"], row["database_calls"], row["distributed_calls"]) == (10, 2, 1)
    times = {name: row[f"{name}_time"] for name in ("in_memory", "database", "distributed", "distributed")}
    assert times == pytest.approx({"in_memory": 0.040, "database": 0.040, "distributed": 0.020})
    assert row["distributed_time_with_callee"] == pytest.approx(0.050)
    assert (row["services"], row["spans"]) == (2, 5)


def test_a_pools_test_of_a_connection_is_counted_apart_from_calls_of_the_database() -> None:
    check = {**SQL, "statement": ""}
    row = only(pd.concat([SHOP, table(span("alive", "client", "shop", (5, 8), "root", **check))]))
    assert (row["database_calls"], row["database_checks"]) == (2, 1)


def test_a_service_that_tells_no_statement_at_all_still_calls_its_database() -> None:
    row = only(changed(changed(SHOP, "find", statement=""), "read", statement=""))
    assert (row["database_calls"], row["database_checks"]) == (2, 0)


def test_in_memory_calls_are_not_known_where_one_service_does_not_tell_them() -> None:
    assert math.isnan(only(changed(SHOP, "take", in_memory_calls=np.nan))["in_memory_calls"])


def test_of_a_call_within_a_call_of_the_same_service_the_outer_one_counts() -> None:
    inner = span("wire", "client", "shop", (12, 28), "find", peer="search:9200")
    deep = span("deep", "internal", "shop", (45, 88), "ask")
    again = span("again", "client", "shop", (46, 87), "deep", peer="127.0.0.1:8081")
    frame = changed(pd.concat([SHOP, table(inner, deep, again)]), "take", parent_id="again")
    row = only(frame)
    assert (row["database_calls"], row["distributed_calls"]) == (2, 1)
    assert row["database_time"] == pytest.approx(0.040)


def test_calls_at_the_same_time_share_it_so_that_the_types_add_up_to_the_whole() -> None:
    frame = table(
        span("root", "server", "shop", (0, 100)),
        span("a", "client", "shop", (10, 60), "root", peer="one"),
        span("b", "client", "shop", (10, 60), "root", **SQL),
    )
    row = only(frame)
    assert row["distributed_time"] == pytest.approx(0.025)
    assert row["database_time"] == pytest.approx(0.025)
    assert row["in_memory_time"] == pytest.approx(0.050)


def test_what_continues_after_the_answer_is_counted_and_takes_none_of_its_time() -> None:
    frame = table(
        span("root", "server", "shop", (0, 50)),
        span("send", "producer", "shop", (10, 20), "root", messaging="rabbitmq", destination="orders"),
        span("take", "consumer", "mail", (60, 90), "send"),
        span("note", "client", "mail", (65, 85), "take", **SQL),
    )
    row = only(frame)
    assert (row["database_calls"], row["distributed_calls"]) == (1, 1)
    assert row["database_time"] == 0
    assert row["in_memory_time"] + row["distributed_time"] == pytest.approx(0.050)


def test_a_message_is_one_call_and_its_confirmation_and_acknowledgement_are_none() -> None:
    queue = {"messaging": "rabbitmq", "destination": "orders"}
    frame = table(
        span("root", "server", "shop", (0, 50)),
        span("publish", "producer", "shop", (10, 20), "root", **queue),
        span("Channel.waitForConfirms", "client", "shop", (20, 30), "root", messaging="rabbitmq"),
        span("process", "consumer", "mail", (22, 26), "publish", **queue),
        span("basic.ack", "client", "mail", (24, 25), "process", messaging="rabbitmq"),
    )
    row = only(frame)
    assert row["distributed_calls"] == 1
    assert row["distributed_time"] == pytest.approx(0.020)


def test_the_clock_of_another_service_is_set_right_with_all_that_it_did() -> None:
    late = SHOP.copy()
    other = late["service"] == "stock"
    late.loc[other, ["start_ns", "end_ns"]] += 3_000_000_000
    row = only(late)
    assert row["skew"] == pytest.approx(3.0, abs=0.02)
    assert row["database_time"] == pytest.approx(0.040)
    assert row["distributed_time"] == pytest.approx(0.020)


def test_the_clock_of_a_service_behind_another_with_a_wrong_clock_is_set_right() -> None:
    """Stock asks depot, each with its own clock: the offsets of a chain of callers add up."""
    depot = table(
        span("fetch", "client", "stock", (56, 74), "take", peer="depot"),
        span("give", "server", "depot", (60, 70), "fetch", route="/depot", method="GET"),
    )
    right = pd.concat([without(SHOP, "read"), depot], ignore_index=True)
    wrong = right.copy()
    for service, seconds in (("stock", 3), ("depot", 5)):
        wrong.loc[wrong["service"] == service, ["start_ns", "end_ns"]] += seconds * 1_000_000_000
    times = [f"{kind}_time" for kind in ("in_memory", "database", "distributed")]
    expected, found = only(right), only(wrong)
    assert found["skew"] > 1
    assert [found[time] for time in times] == pytest.approx([expected[time] for time in times], abs=1e-6)
    assert found["seconds"] == pytest.approx(0.100)


def test_a_server_that_ends_a_little_after_its_caller_has_no_wrong_clock() -> None:
    assert only(changed(SHOP, "ask", end_ns=SHOP["end_ns"].iloc[3] - 200_000))["skew"] == 0


def test_a_trace_that_lacks_a_span_is_incomplete_and_nothing_is_counted_of_it() -> None:
    incomplete = forest(without(SHOP, "ask"))
    assert (len(incomplete.requests), incomplete.incomplete) == (0, 1)


def test_a_parent_outside_the_system_leaves_a_request_whole() -> None:
    row = only(changed(SHOP, "root", parent_id="client-of-the-edge"))
    assert (row["database_calls"], row["distributed_calls"]) == (2, 1)


def test_work_in_the_background_is_no_request() -> None:
    frame = table(span("beat", "client", "shop", (0, 5), peer="registry:8761"))
    assert (len(forest(frame).requests), forest(frame).background) == (0, 1)


def test_a_consumer_that_is_only_linked_to_its_message_belongs_to_the_request_that_sent_it() -> None:
    frame = table(
        span("root", "server", "shop", (0, 50)),
        span("send", "producer", "shop", (10, 20), "root", destination="orders"),
        span("take", "consumer", "mail", (60, 90), trace_id="other", linked_trace="t", linked_span="send"),
        span("note", "client", "mail", (65, 85), "take", trace_id="other", **SQL),
    )
    assert (only(frame)["database_calls"], only(frame)["services"]) == (1, 2)


def test_spans_that_are_each_others_ancestors_are_incomplete_and_end_nothing() -> None:
    frame = table(span("a", "server", "x", (0, 9), "b"), span("b", "server", "x", (0, 9), "a"))
    assert forest(frame).incomplete == 1


def test_a_target_is_the_service_that_took_the_call_else_what_the_caller_knows_of_it() -> None:
    nodes = {node.span_id: node for node in forest(SHOP).requests[0].root.below()}
    assert target_of(nodes["ask"]) == "stock"
    assert target_of(nodes["find"]) == "mariadb core"
    assert [whose_time(nodes[name]) for name in ("root", "find", "ask", "take")] == [
        "shop",
        "mariadb core",
        "shop → stock",
        "stock",
    ]
    alone = forest(without(without(SHOP, "take"), "read")).requests[0]
    assert target_of(next(node for node in alone.root.below() if node.span_id == "ask")) == "127.0.0.1:8081"


@pytest.mark.parametrize(
    ("path", "pattern"),
    [
        ("/customers/17", "/customers/{id}"),
        ("/a/0f8fad5b-d9cb-469f-a165-70867728950e/b", "/a/{id}/b"),
        ("/customers/rgpp0wkpec", "/customers/rgpp0wkpec"),
        ("/v1/orders", "/v1/orders"),
        ("/policies/po123,po456", "/policies/{id}"),
    ],
)
def test_a_path_without_its_identifiers_is_an_operation(path: str, pattern: str) -> None:
    assert pattern_of(path) == pattern


@st.composite
def trees(draw: st.DrawFn) -> pd.DataFrame:
    """Any tree of spans, of whatever services and times, children before and after their parents too."""
    spans = [span("0", "server", "a", (0, draw(st.integers(1, 100))))]
    for number in range(1, draw(st.integers(1, 12))):
        begin, length = draw(st.integers(-20, 120)), draw(st.integers(0, 60))
        kind = draw(st.sampled_from(["server", "client", "producer", "consumer", "internal"]))
        parent = str(draw(st.integers(0, number - 1)))
        service = draw(st.sampled_from(["a", "b", "c"]))
        spans.append(span(str(number), kind, service, (begin, begin + length), parent))
    return table(*spans)


@settings(max_examples=200, deadline=None)
@given(trees())
def test_own_times_are_never_negative_and_add_up_to_the_request_whatever_its_spans(frame: pd.DataFrame) -> None:
    request = forest(frame).requests[0]
    times = own_times(request.root)
    assert min(time for _, time in times) >= 0
    assert sum(time for _, time in times) == pytest.approx(request.root.duration)
    row = per_request([request]).iloc[0]
    assert row[["in_memory_time", "database_time", "distributed_time"]].sum() == pytest.approx(row["seconds"])


def test_a_consumer_behind_a_service_with_a_wrong_clock_has_its_callers_offset() -> None:
    """Stock, whose clock is 3 s ahead, sends depot a message that depot, by the same clock, takes from it later."""
    depot = table(
        span("send", "producer", "stock", (56, 58), "take", peer="depot"),
        span("get", "consumer", "depot", (60, 70), "send"),
    )
    right = pd.concat([without(SHOP, "read"), depot], ignore_index=True)
    wrong = right.copy()
    wrong.loc[wrong["service"].isin(["stock", "depot"]), ["start_ns", "end_ns"]] += 3_000_000_000
    assert only(wrong)["skew"] == pytest.approx(3, abs=0.02)
    assert only(wrong)["seconds"] == pytest.approx(only(right)["seconds"])
    moved = [node for node in nodes_of(wrong) if node.service == "depot"]
    (expected,) = [node for node in nodes_of(right) if node.service == "depot"]
    assert [node.start for node in moved] == pytest.approx([expected.start], abs=1e7)


def test_a_server_in_time_behind_a_service_with_a_wrong_clock_has_its_callers_offset() -> None:
    depot = table(
        span("fetch", "client", "stock", (56, 74), "take", peer="depot"),
        span("give", "server", "depot", (60, 70), "fetch", route="/depot", method="GET"),
    )
    right = pd.concat([without(SHOP, "read"), depot], ignore_index=True)
    wrong = right.copy()
    wrong.loc[wrong["service"].isin(["stock", "depot"]), ["start_ns", "end_ns"]] += 3_000_000_000
    (found,), (expected,) = ([node for node in nodes_of(each) if node.service == "depot"] for each in (wrong, right))
    assert found.start == pytest.approx(expected.start, abs=1e7)


def nodes_of(frame: pd.DataFrame) -> list[Any]:
    """Every span of the only request of a frame, with clocks set right."""
    (request,) = forest(frame).requests
    waiting = [request.root]
    for node in waiting:
        waiting += node.children
    return waiting


@pytest.mark.parametrize(
    ("kind", "reported", "callee", "expected"),
    [
        ("producer", {}, "orders", CalleeKind.QUEUE),
        ("client", {"messaging": "rabbitmq"}, "orders", CalleeKind.QUEUE),
        ("producer", {"messaging": "rabbitmq"}, "orders", CalleeKind.QUEUE),
        ("client", {"database": "mariadb"}, "core", CalleeKind.DATABASE),
        ("client", {}, "stock", CalleeKind.SERVICE),
        ("client", {}, "elsewhere", CalleeKind.OTHER),
    ],
)
def test_a_callee_is_what_any_sign_of_its_call_says(
    kind: str, reported: dict[str, str], callee: str, expected: CalleeKind
) -> None:
    frame = table(
        span("root", "server", "shop", (0, 100), method="GET", route="/"),
        span("call", kind, "shop", (10, 50), "root", **reported),
        span("take", "server", "stock", (20, 40), "call", route="/stock", method="GET"),
    )
    (request,) = forest(frame).requests
    (call,) = request.root.children
    assert kind_of(call, callee) is expected
