package io.patternbench.failsafe;

import dev.failsafe.BulkheadBuilder;
import dev.failsafe.CircuitBreakerBuilder;
import dev.failsafe.RetryPolicyBuilder;
import dev.failsafe.Timeout;
import io.patternbench.kit.Outcome;
import io.patternbench.kit.Round;
import io.patternbench.kit.Round.Backoff;
import io.patternbench.kit.Round.Bulkhead;
import io.patternbench.kit.Round.CircuitBreaker;
import io.patternbench.kit.Round.Exponential;
import io.patternbench.kit.Round.Fixed;
import io.patternbench.kit.Round.Retry;
import java.time.Duration;

/**
 * A policy as a configuration of Failsafe, with every parameter of the library set.
 *
 * <p>The methods fill a builder that they are given, so that a test can watch what they set.
 */
final class LibraryConfig {
  private static final Duration NEVER = Duration.ofNanos(Long.MAX_VALUE);

  private LibraryConfig() {}

  /** Exceptions are defects, or rejections further in: neither is tried again. */
  static RetryPolicyBuilder<Integer> retry(RetryPolicyBuilder<Integer> builder, Retry retry) {
    builder
        .handleIf((outcome, exception) -> exception == null && retry.isRetried(outcome))
        .withMaxAttempts(retry.maxAttempts())
        .withMaxDuration(NEVER);
    return delays(builder, retry.backoff()).withJitter(retry.jitter().share());
  }

  /** The library's own back-off where it has it; else a delay is computed, as it lets us. */
  private static RetryPolicyBuilder<Integer> delays(
      RetryPolicyBuilder<Integer> builder, Backoff backoff) {
    if (backoff instanceof Fixed fixed && fixed.delayUs() > 0) {
      return builder.withDelay(micros(fixed.delayUs()));
    }
    if (backoff instanceof Exponential e && grows(e)) {
      Duration longest = e.maxUs() == null ? NEVER : micros(e.maxUs());
      return builder.withBackoff(micros(e.initialUs()), longest, e.multiplier());
    }
    return builder.withDelayFn(context -> micros(backoff.delayUs(context.getAttemptCount())));
  }

  /** The library takes a delay that grows only. */
  private static boolean grows(Exponential e) {
    return e.initialUs() > 0
        && e.multiplier() > 1
        && (e.maxUs() == null || e.initialUs() < e.maxUs());
  }

  static CircuitBreakerBuilder<Integer> breaker(
      CircuitBreakerBuilder<Integer> builder, CircuitBreaker breaker) {
    builder
        .handleIf((outcome, exception) -> exception == null && !Outcome.isSuccess(outcome))
        .withDelay(micros(breaker.openForUs()))
        .withSuccessThreshold(breaker.halfOpenCalls());
    return breaker.window().calls() != null
        ? builder.withFailureThreshold(breaker.window().calls())
        : builder.withFailureRateThreshold(
            (int) breaker.failureRate(), breaker.minimumCalls(), micros(breaker.window().timeUs()));
  }

  /** Without waiting places nobody waits. */
  static BulkheadBuilder<Integer> bulkhead(BulkheadBuilder<Integer> builder, Bulkhead bulkhead) {
    Duration longest = bulkhead.maxWaitUs() == null ? NEVER : micros(bulkhead.maxWaitUs());
    return builder.withMaxWaitTime(bulkhead.maxWaiting() == 0 ? Duration.ZERO : longest);
  }

  /** Without {@code withInterrupt}: the kit interrupts what is guarded, and nothing after it. */
  static Timeout<Integer> timeout(Round.Timeout timeout) {
    return Timeout.<Integer>builder(micros(timeout.afterUs())).build();
  }

  private static Duration micros(double us) {
    return Duration.ofNanos((long) (us * 1000));
  }
}
