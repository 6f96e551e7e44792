package io.patternbench.failsafe;

import dev.failsafe.Bulkhead;
import dev.failsafe.BulkheadFullException;
import dev.failsafe.CircuitBreaker;
import dev.failsafe.CircuitBreakerOpenException;
import dev.failsafe.Failsafe;
import dev.failsafe.FailsafeExecutor;
import dev.failsafe.RetryPolicy;
import dev.failsafe.TimeoutExceededException;
import io.patternbench.kit.Adapter;
import io.patternbench.kit.ClientMain;
import io.patternbench.kit.Description;
import io.patternbench.kit.Guard;
import io.patternbench.kit.Outcome;
import io.patternbench.kit.Problems;
import io.patternbench.kit.Rejected;
import io.patternbench.kit.Round;
import io.patternbench.kit.Round.Policy;
import io.patternbench.kit.Round.Retry;

/** Failsafe's RetryPolicy, CircuitBreaker, Bulkhead and Timeout. */
public final class FailsafeAdapter implements Adapter {
  private static final Description DESCRIPTION =
      Description.of("failsafe", "Failsafe", "baseline", "retry", "circuit_breaker", "stack");

  /** Serves the contract until the process is ended from outside. */
  public static void main(String[] args) {
    ClientMain.run(new FailsafeAdapter(), args);
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
    if (policy instanceof Round.Timeout timeout) {
      return timeout(timeout);
    }
    FailsafeExecutor<Integer> executor = Failsafe.with(ofLibrary(policy));
    return guarded -> {
      try {
        return executor.get(guarded::get);
      } catch (CircuitBreakerOpenException | BulkheadFullException e) {
        throw Rejected.CALL;
      }
    };
  }

  /** The library tells when the time is over; what is guarded has to end itself. */
  private static Guard timeout(Round.Timeout policy) {
    FailsafeExecutor<Integer> executor = Failsafe.with(LibraryConfig.timeout(policy));
    return guarded -> {
      try {
        return executor.get(
            context -> {
              Runnable cutter = guarded.cutter();
              context.onCancel(cutter::run);
              if (context.isCancelled()) {
                cutter.run();
              }
              return guarded.get();
            });
      } catch (TimeoutExceededException e) {
        return Outcome.TIMEOUT;
      }
    };
  }

  private static dev.failsafe.Policy<Integer> ofLibrary(Policy policy) {
    if (policy instanceof Retry retry) {
      return LibraryConfig.retry(RetryPolicy.builder(), retry).build();
    }
    if (policy instanceof Round.CircuitBreaker breaker) {
      return LibraryConfig.breaker(CircuitBreaker.builder(), breaker).build();
    }
    Round.Bulkhead bulkhead = (Round.Bulkhead) policy;
    return LibraryConfig.bulkhead(Bulkhead.builder(bulkhead.maxConcurrent()), bulkhead).build();
  }
}
