package io.patternbench.resilience4j;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.mockito.Mockito.mockingDetails;
import static org.mockito.Mockito.spy;

import io.github.resilience4j.bulkhead.BulkheadConfig;
import io.github.resilience4j.circuitbreaker.CircuitBreaker.State;
import io.github.resilience4j.circuitbreaker.CircuitBreakerConfig;
import io.github.resilience4j.circuitbreaker.CircuitBreakerConfig.SlidingWindowSynchronizationStrategy;
import io.github.resilience4j.circuitbreaker.CircuitBreakerConfig.SlidingWindowType;
import io.github.resilience4j.core.functions.Either;
import io.github.resilience4j.retry.RetryConfig;
import io.patternbench.kit.Round.Bulkhead;
import io.patternbench.kit.Round.CircuitBreaker;
import io.patternbench.kit.Round.Fixed;
import io.patternbench.kit.Round.Jitter;
import io.patternbench.kit.Round.Retry;
import io.patternbench.kit.Round.SlowCall;
import io.patternbench.kit.Round.Window;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.time.Duration;
import java.util.Arrays;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** No default of the library leaks into a comparison: every parameter is set, or excused here. */
class LibraryConfigTest {
  private static final Map<String, String> RETRY_EXCUSES =
      Map.of(
          "waitDuration", "sets what intervalFunction sets",
          "intervalBiFunction", "sets what intervalFunction sets; both at once are refused",
          "retryExceptions", "adds to retryOnException, which retries on none",
          "ignoreExceptions", "takes from retryOnException, which retries on none");

  private static final Map<String, String> BREAKER_EXCUSES =
      Map.of(
          "waitDurationInOpenState", "sets what waitIntervalFunctionInOpenState sets",
          "slidingWindow", "sets what the four slidingWindow... and minimumNumberOfCalls set",
          "enableAutomaticTransitionFromOpenToHalfOpen",
              "automaticTransitionFromOpenToHalfOpenEnabled(true)",
          "enableIgnoreExceptionsPrecedence", "ignoreExceptionsPrecedenceEnabled(true)",
          "recordExceptions", "adds to recordException, which records none",
          "ignoreExceptions", "adds to ignoreException, which ignores all");

  private static final CircuitBreaker BREAKER =
      new CircuitBreaker(
          37.5, new SlowCall(20, 5_000), new Window(8, null), 4, 20_000, 3, "client");
  private static final Retry RETRY = new Retry(6, new Fixed(20_000), Jitter.NONE, null, 0L);

  @Test
  void everyParameterOfARetryIsSetOrExcused() {
    RetryConfig.Builder<Integer> builder = spy(new RetryConfig.Builder<Integer>());
    LibraryConfig.retry(builder, RETRY);
    assertEquals(parameters(RetryConfig.Builder.class), union(set(builder), RETRY_EXCUSES));
  }

  @Test
  void everyParameterOfABreakerIsSetOrExcused() {
    CircuitBreakerConfig.Builder builder = spy(new CircuitBreakerConfig.Builder());
    LibraryConfig.breaker(builder, BREAKER, new MonotonicClock());
    assertEquals(
        parameters(CircuitBreakerConfig.Builder.class), union(set(builder), BREAKER_EXCUSES));
  }

  @Test
  void everyParameterOfABulkheadIsSet() {
    BulkheadConfig.Builder builder = spy(BulkheadConfig.custom());
    LibraryConfig.bulkhead(builder, new Bulkhead(3, 0, 5_000L, "client"));
    assertEquals(parameters(BulkheadConfig.Builder.class), set(builder));
  }

  @Test
  void whoMayNotWaitIsRejectedAtOnceAndWhoMayWaitsAsLongAsIsAllowed() {
    assertEquals(Duration.ZERO, longestWait(new Bulkhead(3, 0, 5_000L, "client")));
    assertEquals(Duration.ofMillis(5), longestWait(new Bulkhead(3, 9, 5_000L, "client")));
    assertTrue(longestWait(new Bulkhead(3, 9, null, "client")).toDays() > 10_000);
  }

  private static Duration longestWait(Bulkhead bulkhead) {
    return LibraryConfig.bulkhead(BulkheadConfig.custom(), bulkhead).build().getMaxWaitDuration();
  }

  @Test
  void anExcusedParameterIsNotAlsoSet() {
    RetryConfig.Builder<Integer> retry = spy(new RetryConfig.Builder<Integer>());
    LibraryConfig.retry(retry, RETRY);
    CircuitBreakerConfig.Builder breaker = spy(new CircuitBreakerConfig.Builder());
    LibraryConfig.breaker(breaker, BREAKER, new MonotonicClock());
    assertTrue(RETRY_EXCUSES.keySet().stream().noneMatch(set(retry)::contains));
    assertTrue(BREAKER_EXCUSES.keySet().stream().noneMatch(set(breaker)::contains));
  }

  @Test
  void everyNumberOfABreakerReachesTheLibraryUnchanged() {
    CircuitBreakerConfig config = config(BREAKER);
    assertEquals(37.5f, config.getFailureRateThreshold());
    assertEquals(20f, config.getSlowCallRateThreshold());
    assertEquals(Duration.ofMillis(5), config.getSlowCallDurationThreshold());
    assertEquals(SlidingWindowType.COUNT_BASED, config.getSlidingWindowType());
    assertEquals(8, config.getSlidingWindowSize());
    assertEquals(4, config.getMinimumNumberOfCalls());
    assertEquals(20L, config.getWaitIntervalFunctionInOpenState().apply(1));
    assertEquals(3, config.getPermittedNumberOfCallsInHalfOpenState());
  }

  @Test
  void everyOtherParameterOfABreakerHasTheValueThatTheContractMeans() {
    CircuitBreakerConfig config = config(BREAKER);
    assertFalse(config.isAutomaticTransitionFromOpenToHalfOpenEnabled());
    assertEquals(Duration.ZERO, config.getMaxWaitDurationInHalfOpenState());
    assertEquals(State.OPEN, config.getTransitionToStateAfterWaitDuration());
    assertEquals(State.CLOSED, config.getInitialState());
    assertFalse(config.isWritableStackTraceEnabled());
    assertEquals(TimeUnit.NANOSECONDS, config.getTimestampUnit());
    long before = System.nanoTime();
    long shown = config.getCurrentTimestampFunction().apply(new MonotonicClock());
    assertTrue(shown - before >= 0 && System.nanoTime() - shown >= 0, "durations are in real time");
    assertEquals(
        SlidingWindowSynchronizationStrategy.SYNCHRONIZED,
        config.getSlidingWindowSynchronizationStrategy());
    assertTrue(config.getRecordResultPredicate().test(503));
    assertFalse(config.getRecordResultPredicate().test(200));
    assertFalse(config.getRecordExceptionPredicate().test(new IllegalStateException()));
    assertTrue(config.getIgnoreExceptionPredicate().test(new IllegalStateException()));
  }

  @Test
  void everyOtherParameterOfARetryHasTheValueThatTheContractMeans() {
    RetryConfig config = LibraryConfig.retry(new RetryConfig.Builder<Integer>(), RETRY).build();
    assertFalse(config.isFailAfterMaxAttempts());
    assertFalse(config.isWritableStackTraceEnabled());
    assertTrue(config.getResultPredicate().test(503));
    assertFalse(config.getResultPredicate().test(200));
    assertFalse(config.getExceptionPredicate().test(new IllegalStateException()));
    assertEquals(20L, config.getIntervalBiFunction().apply(1, Either.right(503)));
  }

  @Test
  void aTimeWindowIsInSeconds() {
    CircuitBreakerConfig config =
        config(
            new CircuitBreaker(50, null, new Window(null, 10_000_000L), 100, 20_000, 3, "client"));
    assertEquals(SlidingWindowType.TIME_BASED, config.getSlidingWindowType());
    assertEquals(10, config.getSlidingWindowSize());
    assertEquals(100, config.getMinimumNumberOfCalls());
  }

  @Test
  void withoutSlowCallsNoCallIsEverSlow() {
    CircuitBreakerConfig config =
        config(new CircuitBreaker(50, null, new Window(2, null), 2, 20_000, 1, "client"));
    assertEquals(Long.MAX_VALUE, config.getSlowCallDurationThreshold().toNanos());
  }

  @Test
  void attemptsIncludeTheFirst() {
    assertEquals(
        6, LibraryConfig.retry(new RetryConfig.Builder<Integer>(), RETRY).build().getMaxAttempts());
  }

  private static CircuitBreakerConfig config(CircuitBreaker breaker) {
    return LibraryConfig.breaker(new CircuitBreakerConfig.Builder(), breaker, new MonotonicClock())
        .build();
  }

  /** The names of the methods with which a builder takes its parameters. */
  private static Set<String> parameters(Class<?> builder) {
    return Arrays.stream(builder.getDeclaredMethods())
        .filter(m -> Modifier.isPublic(m.getModifiers()) && !m.isSynthetic())
        .filter(m -> m.getReturnType() == builder)
        .map(Method::getName)
        .collect(Collectors.toCollection(TreeSet::new));
  }

  private static Set<String> set(Object spiedBuilder) {
    return mockingDetails(spiedBuilder).getInvocations().stream()
        .map(call -> call.getMethod().getName())
        .collect(Collectors.toCollection(TreeSet::new));
  }

  private static Set<String> union(Set<String> set, Map<String, String> excuses) {
    Set<String> all = new TreeSet<>(set);
    all.addAll(excuses.keySet());
    return all;
  }
}
