package io.patternbench.failsafe;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.mockito.Mockito.mockingDetails;
import static org.mockito.Mockito.spy;

import dev.failsafe.Bulkhead;
import dev.failsafe.CircuitBreaker;
import dev.failsafe.CircuitBreakerBuilder;
import dev.failsafe.CircuitBreakerConfig;
import dev.failsafe.PolicyBuilder;
import dev.failsafe.RetryPolicy;
import dev.failsafe.RetryPolicyBuilder;
import dev.failsafe.RetryPolicyConfig;
import io.patternbench.kit.Rejected;
import io.patternbench.kit.Round;
import io.patternbench.kit.Round.Backoff;
import io.patternbench.kit.Round.Exponential;
import io.patternbench.kit.Round.Fixed;
import io.patternbench.kit.Round.Jitter;
import io.patternbench.kit.Round.Linear;
import io.patternbench.kit.Round.Retry;
import io.patternbench.kit.Round.Window;
import java.lang.reflect.Method;
import java.time.Duration;
import java.util.Arrays;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** No default of the library leaks into a comparison: every parameter is set, or excused here. */
class LibraryConfigTest {
  private static final Map<String, String> RETRY_EXCUSES =
      Map.of(
          "handle", "sets what handleIf sets",
          "handleResult", "sets what handleIf sets",
          "handleResultIf", "sets what handleIf sets",
          "abortIf", "nothing is aborted: what is not handled ends the call",
          "abortOn", "as abortIf",
          "abortWhen", "as abortIf",
          "withMaxRetries", "sets what withMaxAttempts sets");

  private static final Map<String, String> BREAKER_EXCUSES =
      Map.of(
          "handle", "sets what handleIf sets",
          "handleResult", "sets what handleIf sets",
          "handleResultIf", "sets what handleIf sets",
          "withDelayFn", "sets what withDelay sets",
          "withDelayFnWhen", "sets what withDelay sets",
          "withDelayFnOn", "sets what withDelay sets");

  /** Ways to say the same: a policy uses the one that its back-off, or its window, has. */
  private static final Set<String> DELAYS =
      Set.of("withDelay", "withBackoff", "withDelayFn", "withDelayFnWhen", "withDelayFnOn");

  private static final Set<String> THRESHOLDS =
      Set.of("withFailureThreshold", "withFailureRateThreshold");

  @Test
  void everyParameterOfARetryIsSetOrExcused() {
    var builder = spy(RetryPolicy.<Integer>builder());
    LibraryConfig.retry(builder, retry(new Fixed(20_000)));
    Set<String> said = union(set(builder), RETRY_EXCUSES.keySet(), DELAYS);
    assertEquals(Set.of(), without(parameters(RetryPolicyBuilder.class), said));
    assertTrue(set(builder).stream().anyMatch(DELAYS::contains));
  }

  @Test
  void everyParameterOfABreakerIsSetOrExcused() {
    var builder = spy(CircuitBreaker.<Integer>builder());
    LibraryConfig.breaker(builder, breaker(new Window(2, null), 100));
    Set<String> said = union(set(builder), BREAKER_EXCUSES.keySet(), THRESHOLDS);
    assertEquals(Set.of(), without(parameters(CircuitBreakerBuilder.class), said));
    assertTrue(set(builder).stream().anyMatch(THRESHOLDS::contains));
  }

  @Test
  void attemptsIncludeTheFirst() {
    assertEquals(6, config(new Fixed(20_000)).getMaxAttempts());
  }

  @Test
  void theLibrarysOwnBackoffIsUsedWhereItHasIt() {
    assertEquals(Duration.ofMillis(20), config(new Fixed(20_000)).getDelay());
    RetryPolicyConfig<Integer> grown = config(new Exponential(20_000, 1.5, 50_000L));
    assertEquals(Duration.ofMillis(20), grown.getDelay());
    assertEquals(1.5, grown.getDelayFactor());
    assertEquals(Duration.ofMillis(50), grown.getMaxDelay());
  }

  @Test
  void aDelayThatTheLibraryCannotGrowIsComputed() {
    for (Backoff backoff :
        new Backoff[] {
          new Fixed(0),
          new Linear(1_000, 1_000, null),
          new Exponential(0, 2, null),
          new Exponential(1_000, 1, null),
          new Exponential(2_000, 2, 2_000L)
        }) {
      assertTrue(config(backoff).getDelayFn() != null, backoff.toString());
    }
  }

  @Test
  void jitterIsTheShareThatTheRoundSays() {
    Retry retry = new Retry(2, new Fixed(1_000), new Jitter("share", 0.5), null, null);
    assertEquals(
        0.5,
        LibraryConfig.retry(RetryPolicy.builder(), retry).build().getConfig().getJitterFactor());
  }

  @Test
  void aRejectionIsNeverTriedAgain() {
    int[] calls = {0};
    var guard = new FailsafeAdapter().guard(retry(new Fixed(0)));
    try {
      guard.call(
          () -> {
            calls[0]++;
            throw Rejected.CALL;
          });
    } catch (Rejected expected) {
      calls[0] += 10;
    }
    assertEquals(11, calls[0], "one call, and the rejection comes through");
  }

  @Test
  void aWindowOfCallsIsThatManyFailuresInARow() {
    CircuitBreakerConfig<Integer> config = config(new Window(4, null), 100);
    assertEquals(4, config.getFailureThreshold());
    assertEquals(4, config.getFailureThresholdingCapacity());
    assertEquals(Duration.ofMillis(20), config.getDelay());
    assertEquals(1, config.getSuccessThreshold());
  }

  @Test
  void aWindowOfTimeHasARateAndALeastNumberOfCalls() {
    CircuitBreakerConfig<Integer> config = config(new Window(null, 2_000_000L), 37);
    assertEquals(37, config.getFailureRateThreshold());
    assertEquals(4, config.getFailureExecutionThreshold());
    assertEquals(Duration.ofSeconds(2), config.getFailureThresholdingPeriod());
  }

  @Test
  void whoMayNotWaitIsRejectedAtOnce() {
    assertEquals(Duration.ZERO, longestWait(new Round.Bulkhead(3, 0, 5_000L, "client")));
    assertEquals(Duration.ofMillis(5), longestWait(new Round.Bulkhead(3, 9, 5_000L, "client")));
    assertFalse(longestWait(new Round.Bulkhead(3, 9, null, "client")).isZero());
  }

  private static Duration longestWait(Round.Bulkhead bulkhead) {
    return LibraryConfig.bulkhead(Bulkhead.builder(3), bulkhead)
        .build()
        .getConfig()
        .getMaxWaitTime();
  }

  private static RetryPolicyConfig<Integer> config(Backoff backoff) {
    return LibraryConfig.retry(RetryPolicy.builder(), retry(backoff)).build().getConfig();
  }

  private static Retry retry(Backoff backoff) {
    return new Retry(6, backoff, Jitter.NONE, null, null);
  }

  private static CircuitBreakerConfig<Integer> config(Window window, double rate) {
    return LibraryConfig.breaker(CircuitBreaker.builder(), breaker(window, rate))
        .build()
        .getConfig();
  }

  private static Round.CircuitBreaker breaker(Window window, double rate) {
    return new Round.CircuitBreaker(rate, null, window, 4, 20_000, 1, "client");
  }

  /** The names of the methods with which a builder takes its parameters; listeners don't count. */
  private static Set<String> parameters(Class<?> builder) {
    return Arrays.stream(builder.getMethods())
        .filter(m -> !m.isSynthetic() && PolicyBuilder.class.isAssignableFrom(m.getReturnType()))
        .map(Method::getName)
        .filter(name -> !name.startsWith("on"))
        .collect(Collectors.toCollection(TreeSet::new));
  }

  private static Set<String> set(Object spiedBuilder) {
    return mockingDetails(spiedBuilder).getInvocations().stream()
        .map(call -> call.getMethod().getName())
        .collect(Collectors.toCollection(TreeSet::new));
  }

  private static Set<String> union(Set<String> one, Set<String> other, Set<String> third) {
    return Stream.of(one, other, third).flatMap(Set::stream).collect(Collectors.toSet());
  }

  private static Set<String> without(Set<String> all, Set<String> said) {
    all.removeAll(said);
    return all;
  }
}
