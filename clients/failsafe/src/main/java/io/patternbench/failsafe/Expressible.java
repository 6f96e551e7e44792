package io.patternbench.failsafe;

import io.patternbench.kit.Adapter.Entry;
import io.patternbench.kit.Problems;
import io.patternbench.kit.Round.Bulkhead;
import io.patternbench.kit.Round.CircuitBreaker;
import io.patternbench.kit.Round.Policy;
import io.patternbench.kit.Round.Retry;
import io.patternbench.kit.Round.Timeout;
import java.util.Set;

/** Says what of a policy Failsafe cannot do exactly. */
final class Expressible {
  /** A window in time has ten buckets of whole milliseconds. */
  private static final long BUCKETS_US = 10_000;

  private Expressible() {}

  static void refuse(Entry entry, Problems problems) {
    Policy policy = entry.policy();
    if (policy instanceof Retry retry) {
      retry(retry, problems);
    } else if (policy instanceof CircuitBreaker breaker) {
      breaker(breaker, problems);
      aroundRejections(entry, problems);
    } else if (policy instanceof Bulkhead bulkhead) {
      problems.boundedWaiting(bulkhead, entry.users());
    } else if (policy instanceof Timeout) {
      problems.breakersWithin(entry);
    } else {
      problems.refuse(
          "",
          null,
          "Failsafe's smooth rate limiter counts from the start of an interval: two calls may go"
              + " out just before and after it, where the contract's bucket fills evenly",
          "a stack without rate_limit");
    }
  }

  private static void retry(Retry retry, Problems problems) {
    if (Set.of("full", "equal").contains(retry.jitter().kind())) {
      problems.refuse(
          "jitter",
          retry.jitter().kind(),
          "Failsafe has no such jitter; it spreads a delay by a share to either side",
          "none, or a number above 0, at most 1");
    }
    problems.retryAfter(retry);
    problems.milliseconds(retry.backoff());
  }

  private static void breaker(CircuitBreaker breaker, Problems problems) {
    if (breaker.slowCall() != null) {
      String why = "Failsafe's breaker does not count slow calls";
      problems.refuse("slow_call", breaker.slowCall().rate(), why, "null");
    }
    problems.atMost(
        "half_open_calls",
        breaker.halfOpenCalls(),
        1,
        "a half-open breaker of Failsafe decides as soon as the rest cannot change it, without"
            + " waiting for further results");
    if (breaker.window().calls() != null) {
      lastCalls(breaker, breaker.window().calls(), problems);
    } else {
      lastTime(breaker, breaker.window().timeUs(), problems);
    }
  }

  /** It opens after a number of failures, even with few results: exact only when all must fail. */
  private static void lastCalls(CircuitBreaker breaker, int calls, Problems problems) {
    String why =
        "Failsafe opens after a number of failures among the last calls, even before its window is"
            + " full: only failures in a row are the same";
    if (breaker.minimumCalls() != calls) {
      problems.refuse("minimum_calls", breaker.minimumCalls(), why, calls + ", as window.calls");
    }
    if (Math.ceil(breaker.failureRate() * calls / 100) < calls) {
      problems.refuse("failure_rate", breaker.failureRate(), why, "100, or a window in time");
    }
  }

  private static void lastTime(CircuitBreaker breaker, long timeUs, Problems problems) {
    String counts = "a time window in ten buckets of whole milliseconds";
    problems.multiple("window.time_us", timeUs, BUCKETS_US, counts);
    if (breaker.failureRate() != Math.rint(breaker.failureRate())) {
      String why = "Failsafe counts whole percents";
      problems.refuse("failure_rate", breaker.failureRate(), why, "a whole number from 1 to 100");
    }
  }

  private static void aroundRejections(Entry entry, Problems problems) {
    if (entry.guarded().stream().anyMatch(Expressible::rejects)) {
      problems.refuse(
          "",
          null,
          "Failsafe's breaker counts a call that was rejected further in as a success, where the"
              + " contract's counts it as nothing",
          "a circuit_breaker that guards nothing but retries and time-outs");
    }
  }

  private static boolean rejects(Policy policy) {
    return !(policy instanceof Retry || policy instanceof Timeout);
  }
}
