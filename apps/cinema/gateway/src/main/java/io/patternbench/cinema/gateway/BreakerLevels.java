package io.patternbench.cinema.gateway;

import com.fasterxml.jackson.annotation.JsonProperty;
import io.github.resilience4j.circuitbreaker.CircuitBreakerConfig;
import io.github.resilience4j.timelimiter.TimeLimiterConfig;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import org.springframework.cloud.circuitbreaker.resilience4j.Resilience4JConfigBuilder;

/**
 * What each route's breaker is like.
 *
 * @param breaker whether there is one
 * @param timeout time limit of a request
 * @param window calls that are counted
 * @param minimum calls before it may open
 * @param rate percent of failures that opens it
 * @param openFor how long it stays open, on the wire {@code wait}
 * @param probes calls that it lets through when it is half open
 * @param statuses of a service that count as failures, such as {@code 500,503}, or {@code none}
 */
record BreakerLevels(
    boolean breaker,
    Duration timeout,
    int window,
    int minimum,
    float rate,
    @JsonProperty("wait") Duration openFor,
    int probes,
    String statuses) {
  private static final String NONE = "none";

  BreakerLevels {
    require(!timeout.isNegative() && !timeout.isZero(), "timeout", "more than 0", timeout);
    require(window >= 1, "window", "1 or more", window);
    require(minimum >= 1, "minimum", "1 or more", minimum);
    require(rate > 0 && rate <= 100, "rate", "more than 0, at most 100", rate);
    require(openFor.toMillis() >= 1, "wait", "1ms or more", openFor);
    require(probes >= 1, "probes", "1 or more", probes);
    require(
        statuses.equals(NONE) || statuses.matches("[45]\\d\\d(,[45]\\d\\d)*"),
        "statuses",
        "none, or such as 500,503",
        statuses);
  }

  private static void require(boolean holds, String name, String allowed, Object got) {
    if (!holds) {
      throw new IllegalArgumentException("%s: expected %s, got %s".formatted(name, allowed, got));
    }
  }

  List<String> failures() {
    return statuses.equals(NONE) ? List.of() : Arrays.asList(statuses.split(","));
  }

  Resilience4JConfigBuilder apply(Resilience4JConfigBuilder builder) {
    return builder.timeLimiterConfig(limit()).circuitBreakerConfig(circuit());
  }

  TimeLimiterConfig limit() {
    return TimeLimiterConfig.custom().timeoutDuration(timeout).build();
  }

  CircuitBreakerConfig circuit() {
    return CircuitBreakerConfig.custom()
        .slidingWindowSize(window)
        .minimumNumberOfCalls(minimum)
        .failureRateThreshold(rate)
        .waitDurationInOpenState(openFor)
        .permittedNumberOfCallsInHalfOpenState(probes)
        .build();
  }
}
