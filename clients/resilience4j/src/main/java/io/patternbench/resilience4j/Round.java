package io.patternbench.resilience4j;

import java.net.URI;
import java.util.Map;

/**
 * One round, as the contract describes it; times in microseconds.
 *
 * @param successes successful calls after which a user stops; null for no such limit
 * @param maxAttempts attempts after which a user begins no further call; null for no such limit
 */
record Round(
    URI target,
    Request request,
    int users,
    long thinkTimeUs,
    Long successes,
    Long maxAttempts,
    long rejectedPauseUs,
    long timeLimitUs,
    Strategy strategy) {

  /**
   * The request of every attempt.
   *
   * @param body null for none
   */
  record Request(
      String method, String path, Map<String, String> headers, String body, long timeoutUs) {}

  /** What a user does around an attempt. */
  sealed interface Strategy permits Baseline, Retrying, Breaking {}

  /** No pattern: a call is one attempt. */
  record Baseline() implements Strategy {}

  /**
   * Tries again after a failure.
   *
   * @param maxAttempts of one call, the first included
   */
  record Retrying(int maxAttempts, Backoff backoff, Jitter jitter) implements Strategy {}

  /** A circuit breaker; rates in percent. */
  record Breaking(
      double failureRate,
      SlowCall slowCall,
      Window window,
      int minimumCalls,
      long openForUs,
      int halfOpenCalls,
      boolean sharedByAllUsers)
      implements Strategy {}

  /** When a call counts as slow, and the share of such calls that opens the breaker. */
  record SlowCall(double rate, long durationUs) {}

  /** Results that a closed breaker looks at. */
  sealed interface Window permits LastCalls, LastTime {}

  /** The last so many calls. */
  record LastCalls(int calls) implements Window {}

  /** The calls of the last so many microseconds. */
  record LastTime(long timeUs) implements Window {}

  /** How the delay grows from attempt to attempt. */
  sealed interface Backoff permits Fixed, Linear, Exponential {}

  /** Always the same delay. */
  record Fixed(long delayUs) implements Backoff {}

  /** The same increment every time; maxUs may be null. */
  record Linear(long initialUs, long incrementUs, Long maxUs) implements Backoff {}

  /** The same factor every time; maxUs may be null. */
  record Exponential(long initialUs, double multiplier, Long maxUs) implements Backoff {}

  /**
   * How a delay is spread.
   *
   * @param kind {@code none}, {@code full}, {@code equal} or {@code share}
   * @param share for the kind {@code share}: how far the delay may go to either side, 0 to 1
   */
  record Jitter(String kind, double share) {
    static final Jitter NONE = new Jitter("none", 0);
  }
}
