"""The receiver takes OTLP in both encodings, bounds what it takes, and counts whatever it does not keep."""

from __future__ import annotations

import asyncio
import gzip
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

import httpx
import pandas as pd
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from patternbench.traces.analyze.trees import forest
from patternbench.traces.columns import schema
from patternbench.traces.receive import app, bounds
from patternbench.traces.receive.app import Receiver, Scope
from patternbench.traces.receive.bounds import MOST_BYTES
from patternbench.traces.receive.otlp import JSON, PROTOBUF, SQL, without_literals
from patternbench.traces.receive.spool import Spool

NOW = 1_700_000_000_000_000_000

EXPORT: Scope = {
    "type": "http",
    "method": "POST",
    "path": "/v1/traces",
    "query_string": b"",
    "headers": [(b"content-type", PROTOBUF.encode())],
}
"""What is known of an export before its body is read."""


@pytest.fixture
def spool(tmp_path: Path) -> Iterator[Spool]:
    kept = Spool(tmp_path, most=100)
    kept.begin()
    yield kept
    kept.end()


def answers(spool: Spool, *requests: dict[str, object], path: str = "/v1/traces") -> list[httpx.Response]:
    """What the receiver answers to each of several requests."""

    async def requested() -> list[httpx.Response]:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(Receiver(spool)), base_url="http://r") as client:
            return [await client.request("POST", path, **request) for request in requests]  # type: ignore[arg-type]

    return asyncio.run(requested())


def body(content: bytes, content_type: str = PROTOBUF, **headers: str) -> dict[str, object]:
    return {"content": content, "headers": {"content-type": content_type, **headers}}


def export(*spans: Span, service: str = "shop", process: str = "") -> bytes:
    request = ExportTraceServiceRequest()
    resource = request.resource_spans.add()
    resource.resource.attributes.add(key="service.name", value=AnyValue(string_value=service))
    if process:
        resource.resource.attributes.add(key="service.instance.id", value=AnyValue(string_value=process))
    resource.scope_spans.add().spans.extend(spans)
    return request.SerializeToString()


def otlp_span(number: int = 1, **more: object) -> Span:
    attributes = more.pop("attributes", {})
    assert isinstance(attributes, dict)
    pairs = [KeyValue(key=key, value=_value(value)) for key, value in attributes.items()]
    ids = {"trace_id": number.to_bytes(16, "big"), "span_id": number.to_bytes(8, "big")}
    times = {"start_time_unix_nano": NOW, "end_time_unix_nano": NOW + 1000}
    return Span(**{**ids, **times, "name": "GET", "kind": Span.SPAN_KIND_SERVER, **more}, attributes=pairs)  # type: ignore[arg-type]


def _value(value: object) -> AnyValue:
    return AnyValue(int_value=value) if isinstance(value, int) else AnyValue(string_value=str(value))


def kept(spool: Spool) -> pd.DataFrame:
    spool.end()
    return pd.read_parquet(spool.path)


def test_a_span_in_protobuf_becomes_a_row_of_what_its_attributes_say(spool: Spool) -> None:
    attributes = {"http.request.method": "GET", "http.route": "/orders/{id}", "http.response.status_code": 500}
    attributes |= {"url.full": "http://ann:secret@shop:80/orders/7?token=secret", "patternbench.calls.in_memory": 52}
    failed = Status(code=Status.STATUS_CODE_ERROR)
    (answer,) = answers(
        spool, body(export(otlp_span(parent_span_id=b"12345678", status=failed, attributes=attributes)))
    )
    assert answer.status_code == 200
    assert not ExportTraceServiceResponse.FromString(answer.content).partial_success.rejected_spans
    (row,) = kept(spool).to_dict("records")
    assert list(row) == schema().names
    reported = {"service": "shop", "kind": "server", "method": "GET", "route": "/orders/{id}", "status": 500}
    reported |= {"path": "/orders/7", "error": True, "in_memory_calls": 52.0, "start_ns": NOW, "end_ns": NOW + 1000}
    reported |= {"trace_id": f"{1:032x}", "span_id": f"{1:016x}", "parent_id": b"12345678".hex(), "peer": "shop:80"}
    assert {name: row[name] for name in reported} == reported
    assert "secret" not in str(row)


def test_a_consumer_names_the_trace_and_the_span_that_sent_its_message(spool: Spool) -> None:
    links = [
        Span.Link(trace_id=b"the trace of one", span_id=b"its span"),
        Span.Link(trace_id=b"t" * 16, span_id=b"s" * 8),
    ]
    answers(spool, body(export(otlp_span(1, links=links), otlp_span(2))))
    linked, plain = kept(spool).to_dict("records")
    assert (linked["linked_trace"], linked["linked_span"]) == (b"the trace of one".hex(), b"its span".hex())
    assert (plain["linked_trace"], plain["linked_span"]) == ("", "")


OF_DATABASES = {"db.system.name": "mariadb", "db.namespace": "core", "db.query.text": "SELECT a FROM line"}
OF_OLD_DATABASES = {"db.system": "mariadb", "db.name": "core", "db.statement": "SELECT a FROM line"}
OF_MESSAGES = {"messaging.system": "rabbitmq", "messaging.destination.name": "orders"}


@pytest.mark.parametrize(
    ("attributes", "reported"),
    [
        (OF_DATABASES, {"database": "mariadb", "schema": "core", "statement": "SELECT a FROM line"}),
        (OF_OLD_DATABASES, {"database": "mariadb", "schema": "core", "statement": "SELECT a FROM line"}),
        (OF_MESSAGES, {"messaging": "rabbitmq", "destination": "orders"}),
        ({"messaging.destination": "orders"}, {"messaging": "", "destination": "orders"}),
        ({"http.method": "PUT", "http.status_code": 404}, {"method": "PUT", "status": 404}),
    ],
)
def test_what_an_attribute_says_is_in_its_own_column_by_its_new_and_by_its_old_name(
    attributes: dict[str, object], reported: dict[str, object], spool: Spool
) -> None:
    answers(spool, body(export(otlp_span(attributes=attributes))))
    (row,) = kept(spool).to_dict("records")
    assert {name: row[name] for name in reported} == reported


def test_json_has_its_ids_in_hex_and_its_numbers_as_text_or_not(spool: Spool) -> None:
    span = {"traceId": "5b8efff798038103d269b633813fc60c", "spanId": "eee19b7ec3c1b174", "name": "find", "kind": 3}
    span |= {"startTimeUnixNano": str(NOW), "endTimeUnixNano": NOW + 5, "aFieldOfTomorrow": {"a": 1}}
    span |= {"attributes": [{"key": "db.system", "value": {"stringValue": "mariadb"}}]}
    sent = {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}
    (answer,) = answers(spool, body(json.dumps(sent).encode(), "application/json; charset=utf-8"))
    assert (answer.status_code, answer.json(), answer.headers["content-type"]) == (200, {}, JSON)
    (row,) = kept(spool).to_dict("records")
    assert (row["trace_id"], row["span_id"]) == (span["traceId"], span["spanId"])
    assert (row["kind"], row["database"], row["service"]) == ("client", "mariadb", "unknown_service")


def test_a_packed_body_is_unpacked(spool: Spool) -> None:
    (answer,) = answers(spool, body(gzip.compress(export(otlp_span())), **{"content-encoding": "gzip"}))
    assert (answer.status_code, spool.received.kept) == (200, 1)


HUNDRED_MB = b"\0" * 100_000_000


@pytest.mark.parametrize("packed", [False, True])
def test_a_body_may_have_exactly_the_bytes_that_are_allowed_packed_or_not(packed: bool, spool: Spool) -> None:
    for more, status in ((0, 200), (1, 413)):
        text = b'{"resourceSpans": []}'.ljust(MOST_BYTES + more)
        sent = body(gzip.compress(text), JSON, **{"content-encoding": "gzip"}) if packed else body(text, JSON)
        in_pieces = body(text, JSON) | {"content": pieces_of(text)}
        assert [answer.status_code for answer in answers(spool, sent, in_pieces)] == [status, status]


async def pieces_of(text: bytes) -> AsyncIterator[bytes]:
    """A body of which the length is not said before."""
    for start in range(0, len(text), 1 << 20):
        yield text[start : start + (1 << 20)]


@pytest.mark.parametrize(
    ("request_", "status", "reason"),
    [
        (body(b"garbage"), 400, "bad_body"),
        (body(b"\xff" * 1000), 400, "bad_body"),
        (body(b"{", JSON), 400, "bad_body"),
        (body(b"[1]", JSON), 400, "bad_body"),
        (body(b"[" * 100_000 + b"]" * 100_000, JSON), 400, "bad_body"),
        (body(b'{"resourceSpans": 7}', JSON), 400, "bad_body"),
        (body(b'{"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": "no hex"}]}]}]}', JSON), 400, "bad_body"),
        (body(HUNDRED_MB), 413, "too_large"),
        (body(gzip.compress(HUNDRED_MB), **{"content-encoding": "gzip"}), 413, "too_large"),
        (body(b"no gzip", **{"content-encoding": "gzip"}), 400, "bad_body"),
        (body(gzip.compress(b"whole")[:-9], **{"content-encoding": "gzip"}), 400, "bad_body"),
        (body(b"", **{"content-encoding": "br"}), 415, "encoding"),
        (body(b"", "text/plain"), 415, "content_type"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_no_export_is_refused_and_counted_by_its_reason(
    spool: Spool, request_: dict[str, object], status: int, reason: str
) -> None:
    (answer,) = answers(spool, request_)
    assert answer.status_code == status
    assert spool.received.refused == {reason: 1}
    assert (spool.received.requests, spool.received.kept) == (0, 0)
    shown = (
        answer.json()["message"]
        if answer.headers["content-type"] == JSON
        else Status.FromString(answer.content).message
    )
    assert shown


def test_a_body_that_is_sent_piece_by_piece_is_read_to_the_limit_and_no_further(spool: Spool) -> None:
    messages = [{"type": "http.request", "body": b"\0" * 100_000, "more_body": True}] * 1000
    taken = iter(messages)
    reported: list[dict[str, object]] = []

    async def receive() -> dict[str, object]:
        return next(taken)

    async def send(message: dict[str, object]) -> None:
        reported.append(message)

    asyncio.run(Receiver(spool)(EXPORT, receive, send))
    assert reported[0]["status"] == 413
    assert 1000 - len(list(taken)) == MOST_BYTES // 100_000 + 1


def test_other_signals_than_traces_are_refused_and_distinguished(spool: Spool) -> None:
    (answer,) = answers(spool, body(b""), path="/v1/metrics")
    assert (answer.status_code, spool.received.refused) == (404, {"other_signal": 1})


@pytest.mark.parametrize(
    ("span", "reason"),
    [
        (otlp_span(end_time_unix_nano=0), "never_ended"),
        (otlp_span(end_time_unix_nano=NOW - 1), "bad_time"),
        (otlp_span(end_time_unix_nano=2**64 - 1), "bad_time"),
        (otlp_span(start_time_unix_nano=0), "bad_time"),
        (otlp_span(trace_id=b"short"), "bad_id"),
        (otlp_span(trace_id=bytes(16)), "bad_id"),
        (otlp_span(span_id=b""), "bad_id"),
    ],
)
def test_a_span_that_cannot_be_is_left_out_counted_and_told_to_its_sender(
    spool: Spool, span: Span, reason: str
) -> None:
    (answer,) = answers(spool, body(export(span, otlp_span(2))))
    reported = ExportTraceServiceResponse.FromString(answer.content).partial_success
    assert (reported.rejected_spans, reported.error_message) == (1, f"1 {reason.replace('_', ' ')}")
    assert (spool.received.spans, spool.received.kept, spool.received.left_out) == (2, 1, {reason: 1})
    assert len(kept(spool)) == 1


@pytest.mark.parametrize("agent", ["Prometheus/2.42.0", "kube-probe/1.29"])
def test_a_scrape_or_a_probe_is_no_request(spool: Spool, agent: str) -> None:
    reported = {"user_agent.original": agent, "http.request.method": "GET", "url.path": "/actuator/prometheus"}
    scrape = otlp_span(kind=Span.SPAN_KIND_SERVER, attributes=reported)
    requested = otlp_span(2, kind=Span.SPAN_KIND_SERVER, attributes={**reported, "user_agent.original": "curl/8"})
    answers(spool, body(export(scrape, requested)))
    seen = forest(kept(spool))
    assert (len(seen.requests), seen.background) == (1, 1)


def test_a_span_that_comes_twice_is_kept_once(spool: Spool) -> None:
    answers(spool, body(export(otlp_span())), body(export(otlp_span())))
    assert (spool.received.spans, spool.received.left_out, len(kept(spool))) == (2, {"duplicate": 1}, 1)


def test_no_more_spans_than_asked_for_are_kept_and_those_beyond_are_counted(spool: Spool) -> None:
    answers(spool, body(export(*(otlp_span(number) for number in range(1, 151)))))
    assert (spool.received.left_out, len(kept(spool))) == ({"too_many": 50}, 100)


def test_spans_are_written_while_the_round_continues_so_that_memory_is_bounded(
    spool: Spool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("patternbench.traces.receive.spool.ROWS_IN_MEMORY", 10)
    answers(spool, body(export(*(otlp_span(number) for number in range(1, 26)))))
    assert len(spool._rows) == 5
    assert sorted(kept(spool)["span_id"]) == [f"{number:016x}" for number in range(1, 26)]


def test_what_comes_between_rounds_is_counted_and_a_new_round_begins_empty(spool: Spool) -> None:
    answers(spool, body(export(otlp_span(1))))
    spool.end()
    answers(spool, body(export(otlp_span(2))))
    assert spool.received.left_out == {"outside_a_round": 1}
    spool.begin()
    answers(spool, body(export(otlp_span(3))))
    assert (spool.received.spans, spool.received.left_out) == (1, {})
    assert kept(spool)["span_id"].tolist() == [f"{3:016x}"]


def test_spans_that_began_before_the_round_and_come_late_are_counted_and_not_kept(spool: Spool) -> None:
    """Probes of readiness: exporters hold their spans back, and a service continues when its answer has been read."""
    early = otlp_span(1)
    scope = {"type": "http", "method": "POST", "path": "/round", "headers": []}
    since = str(early.start_time_unix_nano + 1).encode()

    async def send(_: object) -> None:
        """Nobody reads it."""

    asyncio.run(Receiver(spool)({**scope, "query_string": b"since_ns=" + since}, None, send))  # type: ignore[arg-type]
    late = otlp_span(2, start_time_unix_nano=early.start_time_unix_nano + 1)
    answers(spool, body(export(early, late)))
    assert spool.received.left_out == {"before_the_round": 1}
    assert kept(spool)["span_id"].tolist() == [f"{2:016x}"]


SECOND = 1_000_000_000


def at(number: int, seconds: float) -> Span:
    """A span of a moment after the round's begin, or before it."""
    begin = NOW + int(seconds * SECOND)
    return otlp_span(number, start_time_unix_nano=begin, end_time_unix_nano=begin + 1000)


def test_spans_by_a_clock_that_was_set_back_within_the_round_are_counted_and_are_no_probes(spool: Spool) -> None:
    spool.begin(since_ns=NOW)
    probe, served = at(1, -0.1), at(2, 3.0)
    lost, still_kept = at(3, -2.0), at(4, 1.5)
    answers(spool, body(export(probe, served)), body(export(lost)), body(export(still_kept)))
    assert spool.received.left_out == {"before_the_round": 1, "clock_set_back": 1}
    assert spool.received.set_back == 2
    assert kept(spool)["span_id"].tolist() == [f"{number:016x}" for number in (2, 4)]


def test_spans_of_a_process_are_in_no_order_within_a_request_and_nearly_so_between_two(spool: Spool) -> None:
    spool.begin(since_ns=NOW)
    answers(spool, body(export(at(1, 5.0), at(2, 0.1))), body(export(at(3, 4.2))))
    assert (spool.received.set_back, spool.received.kept) == (0, 3)


def test_the_late_probe_of_one_process_is_no_clock_of_another_that_was_set_back(spool: Spool) -> None:
    spool.begin(since_ns=NOW)
    answers(spool, body(export(at(1, 5.0), process="a")), body(export(at(2, -0.1), process="b")))
    assert (spool.received.set_back, spool.received.left_out) == (0, {"before_the_round": 1})


def test_spans_that_an_exporter_sends_again_are_by_no_clock_that_was_set_back(spool: Spool) -> None:
    spool.begin(since_ns=NOW)
    answers(spool, *(body(export(at(number, seconds))) for number, seconds in ((1, 0.1), (2, 5.0), (1, 0.1))))
    assert (spool.received.set_back, spool.received.left_out) == (0, {"duplicate": 1})


def test_what_clocks_said_in_one_round_is_forgotten_in_the_next(spool: Spool) -> None:
    answers(spool, body(export(at(1, 5.0))))
    spool.begin(since_ns=NOW)
    answers(spool, body(export(at(2, -0.1))))
    assert (spool.received.set_back, spool.received.left_out) == (0, {"before_the_round": 1})


def test_a_body_that_does_not_come_is_not_waited_for(spool: Spool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "READ_S", 0.01)
    reported: list[dict[str, object]] = []

    async def receive() -> dict[str, object]:
        await asyncio.Event().wait()
        return {}

    async def send(message: dict[str, object]) -> None:
        reported.append(message)

    asyncio.run(Receiver(spool)(EXPORT, receive, send))
    assert (reported[0]["status"], spool.received.refused) == (408, {"too_slow": 1})


def stalls(beginning: bytes) -> Callable[[], Awaitable[dict[str, object]]]:
    """A sender that sends the beginning of a body, and then nothing."""
    pieces = iter([beginning])

    async def receive() -> dict[str, object]:
        for piece in pieces:
            return {"type": "http.request", "body": piece, "more_body": True}
        await asyncio.Event().wait()
        raise AssertionError("unreachable")

    return receive


async def ignore(_message: object) -> None:
    """Send an answer to no one."""


async def _while_others_stall(spool: Spool, beginning: bytes, senders: int, path: str) -> httpx.Response:
    """The answer to a request that comes while so many senders stall."""
    receiver = Receiver(spool)
    stalled = [asyncio.create_task(receiver(EXPORT, stalls(beginning), ignore)) for _ in range(senders)]
    await asyncio.sleep(0)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(receiver), base_url="http://r") as client:
        method = "POST" if path == "/v1/traces" else "GET"
        answer = await client.request(method, path, content=export(otlp_span()), headers={"content-type": PROTOBUF})
    assert not any(task.done() for task in stalled)
    for task in stalled:
        task.cancel()
    await asyncio.gather(*stalled, return_exceptions=True)
    return answer


@pytest.mark.parametrize("beginning", [b"", b"x" * (app.USUAL_BYTES + 1)])
def test_slow_senders_hold_back_no_one_else(spool: Spool, beginning: bytes) -> None:
    answer = asyncio.run(_while_others_stall(spool, beginning, 8 * app.AT_ONCE, "/v1/traces"))
    assert (answer.status_code, len(kept(spool))) == (200, 1)


def test_the_runner_is_answered_however_many_send_at_once(spool: Spool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "MOST_EXPORTS", 5)
    assert asyncio.run(_while_others_stall(spool, b"", 5, "/v1/traces")).status_code == 503
    assert asyncio.run(_while_others_stall(spool, b"", 5, "/round")).status_code == 200


def test_a_statement_that_begins_with_many_blanks_is_looked_at_once_per_blank() -> None:
    """Possessive quantifiers give nothing back: a pattern without them takes the square of the blanks."""
    assert not [part for part in re.findall(r"\\s\*.", SQL.pattern) if part != r"\s*+"]
    assert SQL.match(" " * 10_000) is None
    assert SQL.match("  (  select 1")


@pytest.mark.parametrize("content", [b"[]", b"1", b"null", b'{"spans": []}'])
def test_json_that_is_no_export_is_refused(spool: Spool, content: bytes) -> None:
    (answer,) = answers(spool, body(content, JSON))
    assert answer.status_code == 400


def test_a_time_of_thousands_of_digits_is_no_error(spool: Spool) -> None:
    (answer,) = answers(spool, {"params": {"since_ns": "9" * 5000}}, path="/round")
    assert answer.status_code == 200


@pytest.mark.parametrize(
    ("raw", "reported"),
    [
        ("SELECT * FROM a WHERE b = 'O''Hara' AND c = -1.5e3", "SELECT * FROM a WHERE b = ? AND c = ?"),
        ("select t1.a from t1 where id in (1, 2,3)", "select t1.a from t1 where id in (?)"),
        ("insert into a values (?, ?, ?)", "insert into a values (?)"),
        ("insert into a\n  values (%s,%s)", "insert into a values (?)"),
        ('select "Name" from a where b = $1', 'select "Name" from a where b = $1'),
    ],
)
def test_a_statement_is_kept_without_its_literals(raw: str, reported: str) -> None:
    assert without_literals(raw) == reported


@pytest.mark.parametrize("quote", ["'", '"'])
def test_a_text_that_is_never_closed_is_looked_through_once_and_shows_nothing(quote: str) -> None:
    """Each quote of such a text once began a look of its own: 10,000 signs took half a second."""
    unclosed = f"select {quote}" + f"\\{quote}secret" * 5_000
    assert without_literals(unclosed, "mysql") == "select ?"
    assert without_literals(f"select {quote}line\nend\\", "mysql") == "select ?"
    assert without_literals(f"select {quote}a{quote}{quote}b{quote}, 1", "mysql") == "select ?, ?"


def test_in_double_quotes_mysql_has_text() -> None:
    assert without_literals('select a from b where c = "secret"', "mysql") == "select a from b where c = ?"


def test_of_what_is_no_sql_the_operation_alone_is_kept(spool: Spool) -> None:
    attributes = {"db.system": "redis", "db.statement": "SETEX session:17 3600 secret"}
    answers(spool, body(export(otlp_span(attributes=attributes))))
    assert kept(spool)["statement"].tolist() == ["SETEX"]
