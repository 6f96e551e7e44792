package io.patternbench.resilience4j;

import io.github.resilience4j.circuitbreaker.CircuitBreaker.State;
import io.github.resilience4j.circuitbreaker.CircuitBreakerConfig;
import io.github.resilience4j.circuitbreaker.CircuitBreakerConfig.SlidingWindowSynchronizationStrategy;
import io.github.resilience4j.circuitbreaker.CircuitBreakerConfig.SlidingWindowType;
import io.github.resilience4j.circuitbreaker.CircuitBreakerConfig.TransitionCheckResult;
import io.github.resilience4j.core.IntervalFunction;
import io.github.resilience4j.retry.RetryConfig;
import io.patternbench.resilience4j.Round.Breaking;
import io.patternbench.resilience4j.Round.LastCalls;
import io.patternbench.resilience4j.Round.LastTime;
import io.patternbench.resilience4j.Round.Retrying;
import io.patternbench.resilience4j.Round.SlowCall;
import io.patternbench.resilience4j.Round.Window;
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
  private static final float ALL = 100;

  private LibraryConfig() {}

  static RetryConfig.Builder<Integer> retry(
      RetryConfig.Builder<Integer> builder, Retrying retrying) {
    return builder
        .maxAttempts(retrying.maxAttempts())
        .intervalFunction(Delays.of(retrying.backoff(), retrying.jitter()))
        .retryOnResult(outcome -> !Outcome.isSuccess(outcome))
        .retryOnException(exception -> false)
        .failAfterMaxAttempts(false)
        .consumeResultBeforeRetryAttempt((attempt, outcome) -> {})
        .writableStackTraceEnabled(false);
  }

  static CircuitBreakerConfig.Builder breaker(
      CircuitBreakerConfig.Builder builder, Breaking breaking, Clock clock) {
    rates(builder, breaking);
    window(builder, breaking);
    results(builder);
    return builder
        .waitIntervalFunctionInOpenState(
            IntervalFunction.of(TimeUnit.MICROSECONDS.toMillis(breaking.openForUs())))
        .automaticTransitionFromOpenToHalfOpenEnabled(false)
        .permittedNumberOfCallsInHalfOpenState(breaking.halfOpenCalls())
        .maxWaitDurationInHalfOpenState(Duration.ZERO)
        .transitionToStateAfterWaitDuration(State.OPEN)
        .initialState(State.CLOSED)
        .writableStackTraceEnabled(false)
        .currentTimestampFunction(c -> System.nanoTime(), TimeUnit.NANOSECONDS)
        .clock(clock);
  }

  private static void rates(CircuitBreakerConfig.Builder builder, Breaking breaking) {
    SlowCall slowCall = breaking.slowCall();
    builder
        .failureRateThreshold((float) breaking.failureRate())
        .slowCallRateThreshold(slowCall == null ? ALL : (float) slowCall.rate())
        .slowCallDurationThreshold(
            slowCall == null ? NEVER_SLOW : Duration.ofNanos(slowCall.durationUs() * 1000));
  }

  private static void window(CircuitBreakerConfig.Builder builder, Breaking breaking) {
    Window window = breaking.window();
    builder
        .slidingWindowType(
            window instanceof LastCalls
                ? SlidingWindowType.COUNT_BASED
                : SlidingWindowType.TIME_BASED)
        .slidingWindowSize(size(window))
        .slidingWindowSynchronizationStrategy(SlidingWindowSynchronizationStrategy.SYNCHRONIZED)
        .minimumNumberOfCalls(breaking.minimumCalls());
  }

  private static int size(Window window) {
    return window instanceof LastCalls last
        ? last.calls()
        : (int) TimeUnit.MICROSECONDS.toSeconds(((LastTime) window).timeUs());
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
