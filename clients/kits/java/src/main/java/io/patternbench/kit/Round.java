package io.patternbench.kit;

import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonSubTypes;
import com.fasterxml.jackson.annotation.JsonSubTypes.Type;
import com.fasterxml.jackson.annotation.JsonTypeInfo;
import com.fasterxml.jackson.annotation.JsonTypeInfo.As;
import com.fasterxml.jackson.annotation.JsonTypeInfo.Id;
import java.net.URI;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;

/**
 * One round, as the contract describes it; times in microseconds.
 *
 * @param successes successful calls after which a user stops; null for no such limit
 * @param maxAttempts attempts after which a user begins no further call; null for no such limit
 * @param seed of whatever the library lets a client seed
 */
public record Round(
    int contract,
    URI target,
    Request request,
    int users,
    long thinkTimeUs,
    Long successes,
    Long maxAttempts,
    long rejectedPauseUs,
    long timeLimitUs,
    long seed,
    Strategy strategy) {
  static final int CONTRACT = 1;

  /**
   * The request of every attempt.
   *
   * @param body null for none
   */
  public record Request(
      String method, String path, Map<String, String> headers, String body, long timeoutUs) {}

  /** What a user does around an attempt. */
  @JsonTypeInfo(use = Id.NAME, include = As.WRAPPER_OBJECT)
  @JsonSubTypes({
    @Type(value = Baseline.class, name = "baseline"),
    @Type(value = Retry.class, name = "retry"),
    @Type(value = CircuitBreaker.class, name = "circuit_breaker"),
    @Type(value = Stack.class, name = "stack"),
  })
  public sealed interface Strategy permits Baseline, Policy, Stack {
    /** The policies around an attempt, the outermost first. */
    List<Policy> policies();
  }

  /** No pattern: a call is one attempt. */
  public record Baseline() implements Strategy {
    @JsonCreator(mode = JsonCreator.Mode.DELEGATING)
    static Baseline of(Map<String, Object> nothing) {
      return new Baseline();
    }

    @Override
    public List<Policy> policies() {
      return List.of();
    }
  }

  /** Policies around each other, the outermost first. */
  public record Stack(List<Policy> policies) implements Strategy {
    @JsonCreator(mode = JsonCreator.Mode.DELEGATING)
    public Stack {}
  }

  /** One policy, alone or in a stack. */
  @JsonTypeInfo(use = Id.NAME, include = As.WRAPPER_OBJECT)
  @JsonSubTypes({
    @Type(value = Retry.class, name = "retry"),
    @Type(value = CircuitBreaker.class, name = "circuit_breaker"),
    @Type(value = Bulkhead.class, name = "bulkhead"),
    @Type(value = RateLimit.class, name = "rate_limit"),
    @Type(value = Timeout.class, name = "timeout"),
  })
  public sealed interface Policy extends Strategy
      permits Retry, CircuitBreaker, Bulkhead, RateLimit, Timeout {
    @Override
    default List<Policy> policies() {
      return List.of(this);
    }

    /** The name of the policy in the contract. */
    String kind();

    /** Whether all users share it; else each has its own. */
    boolean shared();
  }

  /**
   * Tries again after a failure.
   *
   * @param maxAttempts of one call, the first included
   * @param on the failures that are tried again; null for all
   * @param retryAfterMaxUs the longest Retry-After that is heeded; null or 0 for none
   */
  public record Retry(
      int maxAttempts, Backoff backoff, Jitter jitter, List<Object> on, Long retryAfterMaxUs)
      implements Policy {
    @Override
    public String kind() {
      return "retry";
    }

    @Override
    public boolean shared() {
      return true;
    }

    /** Whether an attempt with this outcome is tried again. */
    public boolean isRetried(int outcome) {
      return !Outcome.isSuccess(outcome) && (on == null || on.stream().anyMatch(matches(outcome)));
    }

    private static Predicate<Object> matches(int outcome) {
      return entry -> Outcome.isIn(outcome, String.valueOf(entry));
    }
  }

  /** A circuit breaker; rates in percent, {@code scope} {@code client} or {@code user}. */
  public record CircuitBreaker(
      double failureRate,
      SlowCall slowCall,
      Window window,
      int minimumCalls,
      long openForUs,
      int halfOpenCalls,
      String scope)
      implements Policy {
    @Override
    public String kind() {
      return "circuit_breaker";
    }

    @Override
    public boolean shared() {
      return scope.equals("client");
    }
  }

  /** Lets {@code maxConcurrent} calls in at once; {@code maxWaitUs} is null for any wait. */
  public record Bulkhead(int maxConcurrent, int maxWaiting, Long maxWaitUs, String scope)
      implements Policy {
    @Override
    public String kind() {
      return "bulkhead";
    }

    @Override
    public boolean shared() {
      return scope.equals("client");
    }
  }

  /** Lets {@code calls} out per {@code perUs}, {@code burst} at once. */
  public record RateLimit(int calls, long perUs, int burst, long maxWaitUs, String scope)
      implements Policy {
    @Override
    public String kind() {
      return "rate_limit";
    }

    @Override
    public boolean shared() {
      return scope.equals("client");
    }
  }

  /** Ends what it guards {@code afterUs} after it was entered. */
  public record Timeout(long afterUs) implements Policy {
    @Override
    public String kind() {
      return "timeout";
    }

    @Override
    public boolean shared() {
      return true;
    }
  }

  /** When a call counts as slow, and the share of such calls that opens the breaker. */
  public record SlowCall(double rate, long durationUs) {}

  /** The results that a closed breaker looks at: one of the two is null. */
  public record Window(Integer calls, Long timeUs) {}

  /** How the delay grows from attempt to attempt. */
  @JsonTypeInfo(use = Id.NAME, include = As.WRAPPER_OBJECT)
  @JsonSubTypes({
    @Type(value = Fixed.class, name = "fixed"),
    @Type(value = Linear.class, name = "linear"),
    @Type(value = Exponential.class, name = "exponential"),
  })
  public sealed interface Backoff permits Fixed, Linear, Exponential {
    /** The delay in microseconds after this many failed attempts (at least 1), before jitter. */
    double delayUs(int failedAttempts);
  }

  /** Always the same delay. */
  public record Fixed(long delayUs) implements Backoff {
    @Override
    public double delayUs(int failedAttempts) {
      return delayUs;
    }
  }

  /** The same increment every time; maxUs may be null. */
  public record Linear(long initialUs, long incrementUs, Long maxUs) implements Backoff {
    @Override
    public double delayUs(int failedAttempts) {
      return capped(initialUs + (failedAttempts - 1.0) * incrementUs, maxUs);
    }
  }

  /** The same factor every time; maxUs may be null. */
  public record Exponential(long initialUs, double multiplier, Long maxUs) implements Backoff {
    @Override
    public double delayUs(int failedAttempts) {
      // Zero times infinity is not a number; no delay stays none.
      double grown = initialUs == 0 ? 0 : initialUs * Math.pow(multiplier, failedAttempts - 1.0);
      return capped(grown, maxUs);
    }
  }

  private static double capped(double delayUs, Long maxUs) {
    return maxUs == null ? delayUs : Math.min(delayUs, maxUs);
  }

  /**
   * How a delay is spread.
   *
   * @param kind {@code none}, {@code full}, {@code equal} or {@code share}
   * @param share for the kind {@code share}: how far the delay may go to either side, 0 to 1
   */
  public record Jitter(String kind, double share) {
    public static final Jitter NONE = new Jitter("none", 0);

    @JsonCreator(mode = JsonCreator.Mode.DELEGATING)
    static Jitter of(Object value) {
      return value instanceof Number share
          ? new Jitter("share", share.doubleValue())
          : new Jitter(String.valueOf(value), 0);
    }
  }
}
