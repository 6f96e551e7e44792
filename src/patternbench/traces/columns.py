"""The columns of a table of spans, for the receiver that writes it and for all that reads it.

Attributes are taken from the semantic conventions of OpenTelemetry, the stable names and those of before them.
Other fields of a span aren't kept, so that a table stays small and has no headers, bodies or queries of users.
"""

from __future__ import annotations

from functools import cache

import pyarrow as pa

SERVER, CLIENT, PRODUCER, CONSUMER, INTERNAL = "server", "client", "producer", "consumer", "internal"
KINDS = (INTERNAL, INTERNAL, SERVER, CLIENT, PRODUCER, CONSUMER)
"""Kinds of span by their numbers in OTLP; one that is not said counts as internal."""
IN_MEMORY = "patternbench.calls.in_memory"
"""The attribute by which a service tells how many calls it made between its own classes for a request."""
LONGEST_TEXT = 500
"""Characters of a text that are kept."""


@cache
def schema() -> pa.Schema:
    """Return the columns of a table with one row per span."""
    return pa.schema(
        [
            pa.field("trace_id", pa.string(), nullable=False),  # 32 hex digits
            pa.field("span_id", pa.string(), nullable=False),  # 16 hex digits
            pa.field("parent_id", pa.string(), nullable=False),  # empty where a span has no parent
            pa.field("service", pa.string(), nullable=False),
            pa.field("name", pa.string(), nullable=False),
            pa.field("kind", pa.string(), nullable=False),  # one of KINDS
            pa.field("start_ns", pa.int64(), nullable=False),  # Unix time, by the clock of the service
            pa.field("end_ns", pa.int64(), nullable=False),
            pa.field("error", pa.bool_(), nullable=False),  # its status is an error
            pa.field("method", pa.string(), nullable=False),  # of HTTP
            pa.field("route", pa.string(), nullable=False),
            pa.field("path", pa.string(), nullable=False),  # of the URL, without its query
            pa.field("status", pa.int64(), nullable=False),  # of HTTP; 0 where there is none
            pa.field("database", pa.string(), nullable=False),  # the kind of database: ``mariadb``
            pa.field("schema", pa.string(), nullable=False),  # which one of it
            pa.field("statement", pa.string(), nullable=False),  # every literal is replaced by ``?``
            pa.field("messaging", pa.string(), nullable=False),  # the kind of broker
            pa.field("destination", pa.string(), nullable=False),  # queue or topic
            pa.field("peer", pa.string(), nullable=False),  # whom a client calls, as it knows it
            pa.field("in_memory_calls", pa.float64()),  # IN_MEMORY; null where it is not said
            pa.field("linked_trace", pa.string(), nullable=False),  # the first span that it is linked to
            pa.field("linked_span", pa.string(), nullable=False),
        ]
    )
