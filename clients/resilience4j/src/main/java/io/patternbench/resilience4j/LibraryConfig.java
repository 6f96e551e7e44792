package io.patternbench.resilience4j;

import io.github.resilience4j.bulkhead.BulkheadConfig;
import io.github.resilience4j.circuitbreaker.CircuitBreaker.State;
import io.github.resilience4j.circuitbreaker.CircuitBreakerConfig;
import io.github.resilience4j.circuitbreaker.CircuitBreakerConfig.SlidingWindowSynchronizationStrategy;
import io.github.resilience4j.circuitbreaker.CircuitBreakerConfig.SlidingWindowType;
import io.github.resilience4j.circuitbreaker.CircuitBreakerConfig.TransitionCheckResult;
import io.github.resilience4j.core.IntervalFunction;
import io.github.resilience4j.retry.RetryConfig;
import io.github.resilience4j.timelimiter.TimeLimiterConfig;
import io.patternbench.kit.Outcome;
import io.patternbench.kit.Round.Bulkhead;
import io.patternbench.kit.Round.CircuitBreaker;
import io.patternbench.kit.Round.Retry;
import io.patternbench.kit.Round.SlowCall;
import io.patternbench.kit.Round.Timeout;
import io.patternbench.kit.Round.Window;
import java.time.Clock;
import java.time.Duration;
import java.util.concurrent.TimeUnit;

/**
 * A strategy as a configuration of Resilience4j, with every parameter of the library set.
 *
 * <p>The methods fill a builder that they are given, so that a test can watch what they set.
 */
final class LibraryConfig {
  private static final Duration NEVER_SLOW = Duration.ofNanos(Long.MAX_VALUE);
  private static final Duration A_CENTURY = Duration.ofDays(36_500);
  private static final float ALL = 100;

  private LibraryConfig() {}

  static RetryConfig.Builder<Integer> retry(RetryConfig.Builder<Integer> builder, Retry retry) {
    return builder
        .maxAttempts(retry.maxAttempts())
        .intervalFunction(Delays.of(retry.backoff(), retry.jitter()))
        .retryOnResult(retry::isRetried)
        .retryOnException(exception -> false)
        .failAfterMaxAttempts(false)
        .consumeResultBeforeRetryAttempt((attempt, outcome) -> {})
        .writableStackTraceEnabled(false);
  }

  static CircuitBreakerConfig.Builder breaker(
      CircuitBreakerConfig.Builder builder, CircuitBreaker breaker, Clock clock) {
    rates(builder, breaker);
    window(builder, breaker);
    results(builder);
    return builder
        .waitIntervalFunctionInOpenState(
            IntervalFunction.of(TimeUnit.MICROSECONDS.toMillis(breaker.openForUs())))
        .automaticTransitionFromOpenToHalfOpenEnabled(false)
        .permittedNumberOfCallsInHalfOpenState(breaker.halfOpenCalls())
        .maxWaitDurationInHalfOpenState(Duration.ZERO)
        .transitionToStateAfterWaitDuration(State.OPEN)
        .initialState(State.CLOSED)
        .writableStackTraceEnabled(false)
        .currentTimestampFunction(c -> System.nanoTime(), TimeUnit.NANOSECONDS)
        .clock(clock);
  }

  /** Without waiting places nobody waits; else who waits is let in in the order of coming. */
  static BulkheadConfig.Builder bulkhead(BulkheadConfig.Builder builder, Bulkhead bulkhead) {
    Duration longest =
        bulkhead.maxWaitUs() == null ? A_CENTURY : Duration.ofNanos(bulkhead.maxWaitUs() * 1000);
    return builder
        .maxConcurrentCalls(bulkhead.maxConcurrent())
        .maxWaitDuration(bulkhead.maxWaiting() == 0 ? Duration.ZERO : longest)
        .fairCallHandlingStrategyEnabled(true)
        .writableStackTraceEnabled(false);
  }

  /**
   * The kit ends what is late, and waits for its end; a future that was cancelled cannot be waited
   * for.
   */
  static TimeLimiterConfig.Builder timeout(TimeLimiterConfig.Builder builder, Timeout timeout) {
    return builder
        .timeoutDuration(Duration.ofNanos(timeout.afterUs() * 1000))
        .cancelRunningFuture(false);
  }

  private static void rates(CircuitBreakerConfig.Builder builder, CircuitBreaker breaker) {
    SlowCall slowCall = breaker.slowCall();
    builder
        .failureRateThreshold((float) breaker.failureRate())
        .slowCallRateThreshold(slowCall == null ? ALL : (float) slowCall.rate())
        .slowCallDurationThreshold(
            slowCall == null ? NEVER_SLOW : Duration.ofNanos(slowCall.durationUs() * 1000));
  }

  private static void window(CircuitBreakerConfig.Builder builder, CircuitBreaker breaker) {
    Window window = breaker.window();
    builder
        .slidingWindowType(
            window.calls() != null ? SlidingWindowType.COUNT_BASED : SlidingWindowType.TIME_BASED)
        .slidingWindowSize(size(window))
        .slidingWindowSynchronizationStrategy(SlidingWindowSynchronizationStrategy.SYNCHRONIZED)
        .minimumNumberOfCalls(breaker.minimumCalls());
  }

  private static int size(Window window) {
    return window.calls() != null
        ? window.calls()
        : (int) TimeUnit.MICROSECONDS.toSeconds(window.timeUs());
  }

  /** The library judges what an attempt returned; exceptions are defects and count for nothing. */
  private static void results(CircuitBreakerConfig.Builder builder) {
    builder
        .recordResult(outcome -> !Outcome.isSuccess((Integer) outcome))
        .recordException(exception -> false)
        .ignoreException(exception -> true)
        .ignoreExceptionsPrecedenceEnabled(false)
        .transitionOnResult(result -> TransitionCheckResult.noTransition());
  }
}
