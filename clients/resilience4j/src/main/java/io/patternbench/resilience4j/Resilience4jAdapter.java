package io.patternbench.resilience4j;

import io.github.resilience4j.bulkhead.Bulkhead;
import io.github.resilience4j.bulkhead.BulkheadConfig;
import io.github.resilience4j.bulkhead.BulkheadFullException;
import io.github.resilience4j.circuitbreaker.CallNotPermittedException;
import io.github.resilience4j.circuitbreaker.CircuitBreaker;
import io.github.resilience4j.circuitbreaker.CircuitBreakerConfig;
import io.github.resilience4j.retry.RetryConfig;
import io.patternbench.kit.Adapter;
import io.patternbench.kit.ClientMain;
import io.patternbench.kit.Description;
import io.patternbench.kit.Guard;
import io.patternbench.kit.Problems;
import io.patternbench.kit.Rejected;
import io.patternbench.kit.Round;
import io.patternbench.kit.Round.Policy;
import io.patternbench.kit.Round.Retry;

/** Resilience4j's Retry, CircuitBreaker, Bulkhead and TimeLimiter. */
public final class Resilience4jAdapter implements Adapter {
  private static final Description DESCRIPTION =
      Description.of(
          "resilience4j", "Resilience4j", "baseline", "retry", "circuit_breaker", "stack");

  /** Serves the contract until the process is ended from outside. */
  public static void main(String[] args) {
    ClientMain.run(new Resilience4jAdapter(), args);
  }

  @Override
  public Description description() {
    return DESCRIPTION;
  }

  @Override
  public void refuse(Entry entry, Problems problems) {
    Expressible.refuse(entry, problems);
  }

  @Override
  public Guard guard(Policy policy) {
    if (policy instanceof Retry retry) {
      return retry(retry);
    }
    if (policy instanceof Round.CircuitBreaker breaker) {
      return breaker(breaker);
    }
    if (policy instanceof Round.Timeout timeout) {
      return new TimeLimited(timeout);
    }
    return bulkhead((Round.Bulkhead) policy);
  }

  private static Guard retry(Retry retry) {
    RetryConfig config = LibraryConfig.retry(new RetryConfig.Builder<Integer>(), retry).build();
    return io.github.resilience4j.retry.Retry.of("retry", config)::executeSupplier;
  }

  private static Guard breaker(Round.CircuitBreaker policy) {
    CircuitBreakerConfig.Builder builder = new CircuitBreakerConfig.Builder();
    CircuitBreaker breaker =
        CircuitBreaker.of(
            "circuit_breaker",
            LibraryConfig.breaker(builder, policy, new MonotonicClock()).build());
    return guarded -> {
      try {
        return breaker.executeSupplier(guarded);
      } catch (CallNotPermittedException e) {
        throw Rejected.CALL;
      }
    };
  }

  private static Guard bulkhead(Round.Bulkhead policy) {
    BulkheadConfig config = LibraryConfig.bulkhead(BulkheadConfig.custom(), policy).build();
    Bulkhead bulkhead = Bulkhead.of("bulkhead", config);
    return guarded -> {
      try {
        return bulkhead.executeSupplier(guarded);
      } catch (BulkheadFullException e) {
        throw Rejected.CALL;
      }
    };
  }
}
