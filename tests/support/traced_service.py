"""A small service that sends its spans by OpenTelemetry's own SDK: what it calls for a request is known by heart.

``GET /orders/ID`` reads the order, then each of its lines by its own query, and asks STOCK, if there is one, once
for each line. ``GET /stock/ID`` makes one query. Arguments: port, database file, URL of STOCK.
"""

from __future__ import annotations

import importlib
import os
import sqlite3
import sys
import urllib.request
from collections.abc import Callable, Iterable
from socketserver import ThreadingMixIn
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from opentelemetry import trace
from opentelemetry.instrumentation.sqlite3 import SQLite3Instrumentor
from opentelemetry.instrumentation.urllib import URLLibInstrumentor
from opentelemetry.instrumentation.wsgi import OpenTelemetryMiddleware
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter

LINES = 6
IN_MEMORY = 17
Environ = dict[str, str]
StartResponse = Callable[[str, list[tuple[str, str]]], object]


class Server(ThreadingMixIn, WSGIServer):
    """Serves each connection by its own thread."""

    daemon_threads = True
    request_queue_size = 128


class Quiet(WSGIRequestHandler):
    """Logs nothing."""

    def log_message(self, *_: object) -> None:
        """Nothing."""


def application(database: str, stock: str) -> Callable[[Environ, StartResponse], Iterable[bytes]]:
    """The service on a database, with another one to ask, if any."""

    def answer(environ: Environ, start: StartResponse) -> Iterable[bytes]:
        trace.get_current_span().set_attribute("patternbench.calls.in_memory", IN_MEMORY)
        connection = sqlite3.connect(database)
        rows = _lines(connection, stock) if environ["PATH_INFO"].startswith("/orders") else _stock(connection)
        connection.close()
        start("200 OK", [("Content-Type", "text/plain")])
        return [str(rows).encode()]

    return answer


def _lines(connection: sqlite3.Connection, stock: str) -> int:
    cursor = connection.cursor()
    cursor.execute("SELECT count(*) FROM line")
    for number in range(LINES):
        cursor.execute("SELECT amount FROM line WHERE number = ?", (number,))
        if stock:
            urllib.request.urlopen(f"{stock}/stock/{number}", timeout=10).read()
    return LINES


def _stock(connection: sqlite3.Connection) -> int:
    cursor = connection.cursor()
    cursor.execute("SELECT sum(amount) FROM line")
    return int(cursor.fetchone()[0])


def exporter() -> SpanExporter:
    """The exporter of the protocol that the standard variable names; the SDK leaves that choice to its user."""
    way = "grpc" if os.environ.get("OTEL_EXPORTER_OTLP_PROTOCOL") == "grpc" else "http"
    module = importlib.import_module(f"opentelemetry.exporter.otlp.proto.{way}.trace_exporter")
    made: SpanExporter = module.OTLPSpanExporter()
    return made


def main(port: str, database: str, stock: str = "") -> None:
    """Serve on loopback until told to end."""
    with sqlite3.connect(database) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS line (number INTEGER, amount INTEGER)")
        connection.executemany("INSERT INTO line VALUES (?, 3)", [(number,) for number in range(LINES)])
    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(exporter()))
    trace.set_tracer_provider(provider)
    SQLite3Instrumentor().instrument()
    URLLibInstrumentor().instrument()
    app = OpenTelemetryMiddleware(application(database, stock))
    with make_server("127.0.0.1", int(port), app, Server, Quiet) as server:
        server.serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])
