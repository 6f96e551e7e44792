import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanKind;
import io.opentelemetry.api.trace.Tracer;
import io.opentelemetry.context.Scope;
import io.opentelemetry.sdk.autoconfigure.AutoConfiguredOpenTelemetrySdk;
import java.util.concurrent.TimeUnit;

/** Sends the spans of one request by OpenTelemetry's own exporter, told where by the standard variables. */
public final class Spans {
  public static void main(String[] arguments) {
    var sdk = AutoConfiguredOpenTelemetrySdk.initialize().getOpenTelemetrySdk();
    Tracer tracer = sdk.getTracer("test");
    Span root = tracer.spanBuilder("GET").setSpanKind(SpanKind.SERVER).startSpan();
    root.setAttribute("http.request.method", "GET").setAttribute("http.route", "/orders/{id}");
    root.setAttribute(AttributeKey.longKey("patternbench.calls.in_memory"), 7L);
    try (Scope scope = root.makeCurrent()) {
      Span find = tracer.spanBuilder("SELECT").setSpanKind(SpanKind.CLIENT).startSpan();
      find.setAttribute("db.system.name", "postgresql").setAttribute("db.query.text", "SELECT a FROM b WHERE c = 17");
      find.end();
    }
    root.end();
    sdk.getSdkTracerProvider().shutdown().join(10, TimeUnit.SECONDS);
  }
}
