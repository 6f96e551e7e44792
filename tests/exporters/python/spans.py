"""Sends the spans of one request by OpenTelemetry's own exporter, told where by the standard variables."""

import importlib
import os

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import SpanKind

way = {"grpc": "grpc"}.get(os.environ["OTEL_EXPORTER_OTLP_PROTOCOL"], "http")
exporter = importlib.import_module(f"opentelemetry.exporter.otlp.proto.{way}.trace_exporter").OTLPSpanExporter()
provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(exporter))
tracer = provider.get_tracer("test")
requested = {"http.request.method": "GET", "http.route": "/orders/{id}", "patternbench.calls.in_memory": 7}
query = {"db.system.name": "postgresql", "db.query.text": "SELECT a FROM b WHERE c = 17"}
with (
    tracer.start_as_current_span("GET", kind=SpanKind.SERVER, attributes=requested),
    tracer.start_as_current_span("SELECT", kind=SpanKind.CLIENT, attributes=query),
):
    pass
provider.shutdown()
