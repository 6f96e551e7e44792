"""The spans of exporters' OTLP requests, in protobuf or JSON, as rows of our table."""

from __future__ import annotations

import base64
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import urlsplit

import orjson
from google.protobuf.json_format import MessageToJson, ParseDict, ParseError
from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from patternbench.traces.columns import IN_MEMORY, INTERNAL, KINDS, LONGEST_TEXT

PROTOBUF, JSON = "application/x-protobuf", "application/json"
IDS = ("traceId", "spanId", "parentSpanId", "trace_id", "span_id", "parent_span_id")
"""Fields that OTLP's JSON writes in hex digits, whereas protobuf's own JSON has base64."""
RESOURCE_SPANS = {"resourceSpans", "resource_spans"}
LATEST_NS = 2**63 - 1
TRACE_BYTES, SPAN_BYTES = 16, 8
UNKNOWN_SERVICE = "unknown_service"
OF_A_PROCESS = ("service.instance.id", "host.name", "process.pid")
"""Attributes of a resource that tell the processes of one service apart."""
WATCHERS = ("Prometheus/", "kube-probe/")
"""How the user agents of scrapes and probes begin. These requests aren't part of the load."""

Attribute = str | int | float | bool | None
Attributes = Mapping[str, Attribute]
Sender = tuple[str, ...]


class BodyError(Exception):
    """A body is not what its type says; the message says what is wrong."""


class SpanRow(NamedTuple):
    """A span as a row of the table (``traces.columns``)."""

    trace_id: str
    span_id: str
    parent_id: str
    service: str
    name: str
    kind: str
    start_ns: int
    end_ns: int
    error: bool
    method: str
    route: str
    path: str
    status: int
    database: str
    schema: str
    statement: str
    messaging: str
    destination: str
    peer: str
    in_memory_calls: float | None
    linked_trace: str
    linked_span: str


@dataclass
class SpanBatch:
    """The spans of one request, and how many of its spans can't be kept, by reason.

    ``senders`` has for each row the process that made it, as far as its resource tells.
    """

    rows: list[SpanRow] = field(default_factory=list)
    senders: list[Sender] = field(default_factory=list)
    refused: Counter[str] = field(default_factory=Counter)


def decoded(body: bytes, content_type: str) -> ExportTraceServiceRequest:
    """Return the request that a body holds; raises BodyError."""
    try:
        if content_type == PROTOBUF:
            return ExportTraceServiceRequest.FromString(body)
        tree = orjson.loads(body)
        if not isinstance(tree, dict) or (tree and not tree.keys() & RESOURCE_SPANS):
            raise BodyError("isn't an OTLP request: it must be an object with resourceSpans")
        _take_hex(tree)
        return ParseDict(tree, ExportTraceServiceRequest(), ignore_unknown_fields=True)
    except (DecodeError, ParseError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise BodyError(f"isn't an OTLP request: {str(error)[:LONGEST_TEXT]}") from None


def answered(rejected: int, why: str, content_type: str) -> bytes:
    """Return the answer to a request, with the number of spans that weren't kept."""
    answer = ExportTraceServiceResponse()
    if rejected:
        answer.partial_success.rejected_spans = rejected
        answer.partial_success.error_message = why
    return MessageToJson(answer, indent=None).encode() if content_type == JSON else answer.SerializeToString()


def refused(why: str, content_type: str) -> bytes:
    """Return the body of a refusal: the specification asks for a google.rpc.Status, whose text this one shares."""
    status = Status(message=why)
    return orjson.dumps({"message": why}) if content_type == JSON else status.SerializeToString()


def batch_of(request: ExportTraceServiceRequest) -> SpanBatch:
    """Return the spans of a request as rows."""
    batch = SpanBatch()
    for resource in request.resource_spans:
        about = _attributes(resource.resource.attributes)
        service = _text(about.get("service.name")) or UNKNOWN_SERVICE
        sender = (service, *(_text(about.get(name)) for name in OF_A_PROCESS))
        for span in (span for scope in resource.scope_spans for span in scope.spans):
            why = _why_not(span)
            if why:
                batch.refused[why] += 1
            else:
                batch.rows.append(_row(span, service))
                batch.senders.append(sender)
    return batch


def _take_hex(node: object) -> None:
    """Write the ids of a JSON tree as protobuf's JSON does. Raises ValueError for one that is not in hex digits."""
    waiting = [node]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            for key in IDS:
                if isinstance(part.get(key), str):
                    part[key] = base64.b64encode(bytes.fromhex(part[key])).decode()
            waiting += part.values()
        elif isinstance(part, list):
            waiting += part


def _why_not(span: Span) -> str:
    """Why a span cannot be kept; nothing where it can."""
    if not _is_id(span.trace_id, TRACE_BYTES) or not _is_id(span.span_id, SPAN_BYTES):
        return "bad_id"
    if not span.end_time_unix_nano:
        return "never_ended"
    if not 0 < span.start_time_unix_nano <= span.end_time_unix_nano <= LATEST_NS:
        return "bad_time"
    return ""


def _is_id(octets: bytes, length: int) -> bool:
    return len(octets) == length and any(octets)


def _row(span: Span, service: str) -> SpanRow:
    attributes = _attributes(span.attributes)
    database = _first(attributes, "db.system.name", "db.system")
    link = span.links[0] if span.links else None
    return SpanRow(
        trace_id=span.trace_id.hex(),
        span_id=span.span_id.hex(),
        parent_id=span.parent_span_id.hex(),
        service=service,
        name=_text(span.name),
        kind=_kind(span, attributes),
        start_ns=span.start_time_unix_nano,
        end_ns=span.end_time_unix_nano,
        error=span.status.code == Status.STATUS_CODE_ERROR,
        method=_first(attributes, "http.request.method", "http.method"),
        route=_first(attributes, "http.route"),
        path=_path(attributes),
        status=_number(attributes, "http.response.status_code", "http.status_code"),
        database=database,
        schema=_first(attributes, "db.namespace", "db.name"),
        statement=_statement(attributes, database),
        messaging=_first(attributes, "messaging.system"),
        destination=_first(attributes, "messaging.destination.name", "messaging.destination"),
        peer=_peer(attributes),
        in_memory_calls=_count(attributes.get(IN_MEMORY)),
        linked_trace=link.trace_id.hex() if link else "",
        linked_span=link.span_id.hex() if link else "",
    )


def _kind(span: Span, attributes: Attributes) -> str:
    """Return the kind of a span; internal for a scrape or a probe, which is background work as a heartbeat is."""
    watched = _first(attributes, "user_agent.original", "http.user_agent").startswith(WATCHERS)
    return INTERNAL if watched or span.kind >= len(KINDS) else KINDS[span.kind]


def _attributes(pairs: Iterable[KeyValue]) -> dict[str, Attribute]:
    """Attributes of one value each by name; lists and trees are passed over."""
    return {pair.key: value for pair in pairs if (value := _value(pair)) is not None}


def _value(pair: KeyValue) -> Attribute:
    kind = pair.value.WhichOneof("value")
    if kind not in ("string_value", "int_value", "double_value", "bool_value"):
        return None
    value: Attribute = getattr(pair.value, kind)
    return value


def _text(value: Attribute) -> str:
    text = "" if value is None else str(value)[:LONGEST_TEXT]
    return text if text.isprintable() else "".join(sign if sign.isprintable() else " " for sign in text)


def _first(attributes: Attributes, *names: str) -> str:
    """Return the first of several attributes that is there, as text."""
    return next((_text(attributes[name]) for name in names if name in attributes), "")


def _number(attributes: Attributes, *names: str) -> int:
    text = _first(attributes, *names)
    return int(text) if text.isascii() and text.isdigit() and len(text) < len(str(LATEST_NS)) else 0


def _count(value: Attribute) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0 else None


def _path(attributes: Attributes) -> str:
    """Return the path of what was asked for, without its query, which may hold what is nobody's business."""
    direct = _first(attributes, "url.path", "http.target")
    return direct.partition("?")[0] if direct else _parts(_first(attributes, "url.full", "http.url"))[1]


def _peer(attributes: Attributes) -> str:
    """Return the callee of a client: its name, or else its address."""
    named = _first(attributes, "peer.service", "service.peer.name")
    address = _first(attributes, "server.address", "net.peer.name")
    port = _first(attributes, "server.port", "net.peer.port")
    by_address = f"{address}:{port}" if address and port else address
    return named or by_address or _parts(_first(attributes, "url.full", "http.url"))[0]


def _parts(url: str) -> tuple[str, str]:
    """Address and path of a URL; nothing for an invalid one."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "", ""
    return parts.netloc.rpartition("@")[2], parts.path


SQL = re.compile(  # possessive: blanks that are given back one by one would cost the square of their number
    r"\s*+\(?+\s*+(select|insert|update|delete|replace|merge|with|call|begin|commit|rollback|set|create|drop)\b", re.I
)
# A text that isn't closed runs to the end: with a new look from each quote it would take the square of its length.
LITERAL = re.compile(
    r"'(?:[^'\\]|''|\\.?)*+'?|\b0x[0-9a-f]+\b|(?<![\w?$:])-?\d+(?:\.\d+)?(?:e-?\d+)?\b", re.IGNORECASE | re.DOTALL
)
DOUBLE_QUOTED = re.compile(r'"(?:[^"\\]|""|\\.?)*+"?', re.DOTALL)
LISTED = re.compile(r"\(\s*(?:\?|%s|\$\d+)(?:\s*,\s*(?:\?|%s|\$\d+))+\s*\)")
QUOTES_ARE_TEXT = ("mysql", "mariadb")
LONGEST_STATEMENT = 10_000


def _statement(attributes: Attributes, database: str) -> str:
    """Return the statement for a database, with every literal replaced; for anything but SQL only the operation."""
    if not database:
        return ""
    raw = next((attributes[name] for name in ("db.query.text", "db.statement") if name in attributes), "")
    text = str(raw)[:LONGEST_STATEMENT]
    if SQL.match(text):
        return without_literals(text, database)[:LONGEST_TEXT]
    words = _first(attributes, "db.operation.name", "db.operation") or text.partition(" ")[0]
    return " ".join(filter(None, [words[:LONGEST_TEXT], _first(attributes, "db.collection.name", "db.sql.table")]))


def without_literals(text: str, database: str = "") -> str:
    """Return a statement with ``?`` for each literal, and for a list of them: so equal statements are equal texts."""
    if database in QUOTES_ARE_TEXT:
        text = DOUBLE_QUOTED.sub("?", text)
    return " ".join(LISTED.sub("(?)", LITERAL.sub("?", text)).split())


def reasons(refused_spans: Mapping[str, int]) -> Iterator[str]:
    """Why spans were not kept, in words for the one who sent them."""
    return (f"{number} {why.replace('_', ' ')}" for why, number in refused_spans.items())
