// Sends the spans of one request by OpenTelemetry's own exporter, told where by the standard variables.
package main

import (
	"context"
	"log"
	"os"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/trace"
	api "go.opentelemetry.io/otel/trace"
)

// exporterOf returns the exporter of a protocol. It reads from the variables whether it packs what it sends.
func exporterOf(ctx context.Context, protocol string) (trace.SpanExporter, error) {
	if protocol == "grpc" {
		return otlptracegrpc.New(ctx)
	}
	return otlptracehttp.New(ctx)
}

func main() {
	ctx := context.Background()
	exporter, err := exporterOf(ctx, os.Getenv("OTEL_EXPORTER_OTLP_PROTOCOL"))
	if err != nil {
		log.Fatal(err)
	}
	provider := trace.NewTracerProvider(trace.WithBatcher(exporter))
	tracer := provider.Tracer("test")
	ctx, root := tracer.Start(ctx, "GET", api.WithSpanKind(api.SpanKindServer), api.WithAttributes(
		attribute.String("http.request.method", "GET"), attribute.String("http.route", "/orders/{id}"),
		attribute.Int("patternbench.calls.in_memory", 7)))
	_, find := tracer.Start(ctx, "SELECT", api.WithSpanKind(api.SpanKindClient), api.WithAttributes(
		attribute.String("db.system.name", "postgresql"), attribute.String("db.query.text", "SELECT a FROM b WHERE c = 17")))
	find.End()
	root.End()
	if err := provider.Shutdown(context.Background()); err != nil {
		log.Fatal(err)
	}
}
