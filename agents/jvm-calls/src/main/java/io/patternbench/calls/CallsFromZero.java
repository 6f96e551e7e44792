package io.patternbench.calls;

import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.context.Context;
import io.opentelemetry.sdk.autoconfigure.spi.AutoConfigurationCustomizer;
import io.opentelemetry.sdk.autoconfigure.spi.AutoConfigurationCustomizerProvider;
import io.opentelemetry.sdk.trace.ReadWriteSpan;
import io.opentelemetry.sdk.trace.ReadableSpan;
import io.opentelemetry.sdk.trace.SpanProcessor;

/** Begins the count of each request at zero: a request without calls is known to have none. */
public final class CallsFromZero implements AutoConfigurationCustomizerProvider, SpanProcessor {
  @Override
  public void customize(AutoConfigurationCustomizer customizer) {
    customizer.addTracerProviderCustomizer((tracers, config) -> tracers.addSpanProcessor(this));
  }

  @Override
  public void onStart(Context parent, ReadWriteSpan span) {
    SpanContext caller = Span.fromContext(parent).getSpanContext();
    if (!caller.isValid() || caller.isRemote()) {
      span.setAttribute(Calls.IN_MEMORY, 0L);
    }
  }

  @Override
  public boolean isStartRequired() {
    return true;
  }

  @Override
  public void onEnd(ReadableSpan span) {}

  @Override
  public boolean isEndRequired() {
    return false;
  }
}
