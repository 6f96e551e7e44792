package io.patternbench.resilience4j;

import io.github.resilience4j.circuitbreaker.CallNotPermittedException;
import io.github.resilience4j.circuitbreaker.CircuitBreaker;
import io.github.resilience4j.circuitbreaker.CircuitBreakerConfig;
import io.github.resilience4j.retry.Retry;
import io.github.resilience4j.retry.RetryConfig;
import io.patternbench.resilience4j.Round.Breaking;
import io.patternbench.resilience4j.Round.Retrying;
import io.patternbench.resilience4j.Round.Strategy;
import java.time.Clock;
import java.util.function.Supplier;

/** Makes one call out of attempts. */
@FunctionalInterface
interface Policy {
  /** The outcome of the last attempt, or {@link Outcome#REJECTED} when there was none. */
  int call(Supplier<Integer> attempt);

  /** Where the users of one round get their policies: one object for all, or one for each. */
  static Supplier<Policy> forUsersOf(Strategy strategy, Clock clock) {
    if (strategy instanceof Retrying retrying) {
      return shared(retry(retrying));
    }
    if (strategy instanceof Breaking breaking) {
      return breaking.sharedByAllUsers()
          ? shared(breaker(breaking, clock))
          : () -> breaker(breaking, clock);
    }
    return shared(Supplier::get);
  }

  private static Supplier<Policy> shared(Policy policy) {
    return () -> policy;
  }

  private static Policy retry(Retrying retrying) {
    RetryConfig config = LibraryConfig.retry(new RetryConfig.Builder<Integer>(), retrying).build();
    Retry retry = Retry.of("retry", config);
    return retry::executeSupplier;
  }

  private static Policy breaker(Breaking breaking, Clock clock) {
    CircuitBreakerConfig config =
        LibraryConfig.breaker(new CircuitBreakerConfig.Builder(), breaking, clock).build();
    CircuitBreaker breaker = CircuitBreaker.of("circuit_breaker", config);
    return attempt -> {
      try {
        return breaker.executeSupplier(attempt);
      } catch (CallNotPermittedException e) {
        return Outcome.REJECTED;
      }
    };
  }
}
