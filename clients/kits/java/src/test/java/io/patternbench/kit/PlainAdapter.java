package io.patternbench.kit;

import io.patternbench.kit.Round.CircuitBreaker;
import io.patternbench.kit.Round.Policy;
import io.patternbench.kit.Round.Retry;
import java.util.function.Supplier;

/** Policies without a library: a retry that never waits, and a breaker that lets two calls in. */
final class PlainAdapter implements Adapter {
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
    return guarded -> retried((Retry) policy, guarded);
  }

  private static int retried(Retry retry, Supplier<Integer> guarded) {
    int outcome = guarded.get();
    for (int more = 1; more < retry.maxAttempts() && retry.isRetried(outcome); more++) {
      outcome = guarded.get();
    }
    return outcome;
  }

  private static final class LetsTwoIn implements Guard {
    private int calls;

    @Override
    public int call(Supplier<Integer> guarded) {
      synchronized (this) {
        if (++calls > 2) {
          throw Rejected.CALL;
        }
      }
      return guarded.get();
    }
  }
}
