package io.patternbench.resilience4j;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.mockito.Mockito.mockingDetails;
import static org.mockito.Mockito.spy;

import io.github.resilience4j.circuitbreaker.CircuitBreaker.State;
import io.github.resilience4j.circuitbreaker.CircuitBreakerConfig;
import io.github.resilience4j.circuitbreaker.CircuitBreakerConfig.SlidingWindowSynchronizationStrategy;
import io.github.resilience4j.circuitbreaker.CircuitBreakerConfig.SlidingWindowType;
import io.github.resilience4j.core.functions.Either;
import io.github.resilience4j.retry.RetryConfig;
import io.patternbench.resilience4j.Round.Breaking;
import io.patternbench.resilience4j.Round.LastCalls;
import io.patternbench.resilience4j.Round.LastTime;
import io.patternbench.resilience4j.Round.SlowCall;
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

  private static final Breaking BREAKING =
      new Breaking(37.5, new SlowCall(20, 5_000), new LastCalls(8), 4, 20_000, 3, true);

  @Test
  void everyParameterOfARetryIsSetOrExcused() {
    RetryConfig.Builder<Integer> builder = spy(new RetryConfig.Builder<Integer>());
    LibraryConfig.retry(builder, retrying());
    assertEquals(parameters(RetryConfig.Builder.class), union(set(builder), RETRY_EXCUSES));
  }

  @Test
  void everyParameterOfABreakerIsSetOrExcused() {
    CircuitBreakerConfig.Builder builder = spy(new CircuitBreakerConfig.Builder());
    LibraryConfig.breaker(builder, BREAKING, new MonotonicClock());
    assertEquals(
        parameters(CircuitBreakerConfig.Builder.class), union(set(builder), BREAKER_EXCUSES));
  }

  @Test
  void anExcusedParameterIsNotAlsoSet() {
    RetryConfig.Builder<Integer> retry = spy(new RetryConfig.Builder<Integer>());
    LibraryConfig.retry(retry, retrying());
    CircuitBreakerConfig.Builder breaker = spy(new CircuitBreakerConfig.Builder());
    LibraryConfig.breaker(breaker, BREAKING, new MonotonicClock());
    assertTrue(RETRY_EXCUSES.keySet().stream().noneMatch(set(retry)::contains));
    assertTrue(BREAKER_EXCUSES.keySet().stream().noneMatch(set(breaker)::contains));
  }

  @Test
  void everyNumberOfABreakerReachesTheLibraryUnchanged() {
    CircuitBreakerConfig config = config(BREAKING);
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
    CircuitBreakerConfig config = config(BREAKING);
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
    RetryConfig config =
        LibraryConfig.retry(new RetryConfig.Builder<Integer>(), retrying()).build();
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
        config(new Breaking(50, null, new LastTime(10_000_000), 100, 20_000, 3, true));
    assertEquals(SlidingWindowType.TIME_BASED, config.getSlidingWindowType());
    assertEquals(10, config.getSlidingWindowSize());
    assertEquals(100, config.getMinimumNumberOfCalls());
  }

  @Test
  void withoutSlowCallsNoCallIsEverSlow() {
    CircuitBreakerConfig config =
        config(new Breaking(50, null, new LastCalls(2), 2, 20_000, 1, true));
    assertEquals(Long.MAX_VALUE, config.getSlowCallDurationThreshold().toNanos());
  }

  @Test
  void attemptsIncludeTheFirst() {
    assertEquals(
        6,
        LibraryConfig.retry(new RetryConfig.Builder<Integer>(), retrying())
            .build()
            .getMaxAttempts());
  }

  private static CircuitBreakerConfig config(Breaking breaking) {
    return LibraryConfig.breaker(new CircuitBreakerConfig.Builder(), breaking, new MonotonicClock())
        .build();
  }

  private static Round.Retrying retrying() {
    return (Round.Retrying)
        Rounds.valid(Rounds.retry(6, "{'fixed':{'delay_us':20000}}", "'none'")).strategy();
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
