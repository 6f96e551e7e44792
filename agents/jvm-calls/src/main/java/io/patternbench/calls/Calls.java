package io.patternbench.calls;

import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.instrumentation.api.instrumenter.LocalRootSpan;
import java.util.Collections;
import java.util.Map;
import java.util.WeakHashMap;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Counts what the woven methods tell. The agent puts this class among those of the application, so
 * that it needs nothing but the JDK and what the agent shows to every class.
 */
public final class Calls {
  public static final AttributeKey<Long> IN_MEMORY =
      AttributeKey.longKey("patternbench.calls.in_memory");

  private static final ThreadLocal<String> CLASS = new ThreadLocal<>();
  private static final Map<Span, AtomicLong> COUNTS =
      Collections.synchronizedMap(new WeakHashMap<>());

  private Calls() {}

  /** A method of a class begins: returns the class that this thread comes from, null for none. */
  public static String enter(String entered) {
    String caller = CLASS.get();
    if (caller != null && !outermost(caller).equals(outermost(entered))) {
      count(LocalRootSpan.current());
    }
    return go(entered);
  }

  /** What a class runs goes on in this thread, called or not. */
  public static String go(String entered) {
    String caller = CLASS.get();
    CLASS.set(entered);
    return caller;
  }

  /** A method has ended, in whatever way: the thread is back in the class that it came from. */
  public static void leave(String caller) {
    CLASS.set(caller);
  }

  /** The class that a nested, local or anonymous one is written in. */
  static String outermost(String name) {
    int nested = name.indexOf('$', name.lastIndexOf('.') + 2);
    return nested < 0 ? name : name.substring(0, nested);
  }

  private static void count(Span request) {
    if (!request.isRecording()) {
      return;
    }
    AtomicLong calls = COUNTS.computeIfAbsent(request, span -> new AtomicLong());
    // Threads that count for the same request must not write an older number over a newer one.
    synchronized (calls) {
      request.setAttribute(IN_MEMORY, calls.incrementAndGet());
    }
  }
}
