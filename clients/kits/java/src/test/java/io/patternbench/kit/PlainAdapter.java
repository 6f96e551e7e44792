package io.patternbench.kit;

import io.patternbench.kit.Round.CircuitBreaker;
import io.patternbench.kit.Round.Policy;
import io.patternbench.kit.Round.Retry;
import io.patternbench.kit.Round.Timeout;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/**
 * Policies without a library: a retry that never waits, a breaker that lets two calls in, and a
 * time-out.
 */
final class PlainAdapter implements Adapter {
  private static final ScheduledExecutorService TIMER =
      Executors.newSingleThreadScheduledExecutor(
          task -> {
            Thread thread = new Thread(task, "timer");
            thread.setDaemon(true);
            return thread;
          });

  @Override
  public Description description() {
    return Description.of("plain", "none", "baseline", "retry", "circuit_breaker", "stack");
  }

  @Override
  public void refuse(Entry entry, Problems problems) {
    if (entry.policy() instanceof Round.RateLimit) {
      problems.refuse("", null, "none has no such thing", null);
    }
  }

  @Override
  public Guard guard(Policy policy) {
    if (policy instanceof CircuitBreaker) {
      return new LetsTwoIn();
    }
    if (policy instanceof Timeout timeout) {
      return guarded -> timed(timeout, guarded);
    }
    return guarded -> retried((Retry) policy, guarded);
  }

  private static int timed(Timeout timeout, Guarded guarded) {
    Future<?> alarm = TIMER.schedule(guarded.cutter(), timeout.afterUs(), TimeUnit.MICROSECONDS);
    try {
      return guarded.get();
    } finally {
      alarm.cancel(false);
    }
  }

  private static int retried(Retry retry, Guarded guarded) {
    int outcome = guarded.get();
    for (int more = 1; more < retry.maxAttempts() && retry.isRetried(outcome); more++) {
      outcome = guarded.get();
    }
    return outcome;
  }

  private static final class LetsTwoIn implements Guard {
    private int calls;

    @Override
    public int call(Guarded guarded) {
      synchronized (this) {
        if (++calls > 2) {
          throw Rejected.CALL;
        }
      }
      return guarded.get();
    }
  }
}
