package io.patternbench.resilience4j;

import io.patternbench.kit.Adapter.Entry;
import io.patternbench.kit.Problems;
import io.patternbench.kit.Round.Bulkhead;
import io.patternbench.kit.Round.CircuitBreaker;
import io.patternbench.kit.Round.Policy;
import io.patternbench.kit.Round.Retry;
import io.patternbench.kit.Round.SlowCall;
import io.patternbench.kit.Round.Timeout;
import io.patternbench.kit.Round.Window;
import java.util.Set;

/** Says what of a policy Resilience4j cannot do exactly. */
final class Expressible {
  /** The library sets aside memory for each call, or each second, of a window. */
  static final int LARGEST_WINDOW = 1_000_000;

  private static final long SECOND_US = 1_000_000;

  private Expressible() {}

  static void refuse(Entry entry, Problems problems) {
    Policy policy = entry.policy();
    if (policy instanceof Retry retry) {
      retry(retry, problems);
    } else if (policy instanceof CircuitBreaker breaker) {
      breaker(breaker, problems);
    } else if (policy instanceof Bulkhead bulkhead) {
      bulkhead(bulkhead, entry.users(), problems);
    } else if (policy instanceof Timeout timeout) {
      problems.milliseconds("after_us", timeout.afterUs());
      problems.breakersWithin(entry);
    } else {
      problems.refuse(
          "",
          null,
          "Resilience4j limits rates in cycles: permits of one cycle and the next may go out at"
              + " once, where the contract's bucket fills evenly",
          "a stack without rate_limit");
    }
  }

  private static void retry(Retry retry, Problems problems) {
    if (Set.of("full", "equal").contains(retry.jitter().kind())) {
      problems.refuse(
          "jitter",
          retry.jitter().kind(),
          "Resilience4j has no such jitter; it spreads a delay by a share to either side",
          "none, or a number above 0, at most 1");
    }
    problems.retryAfter(retry);
    problems.milliseconds(retry.backoff());
  }

  private static void breaker(CircuitBreaker breaker, Problems problems) {
    rate("failure_rate", breaker.failureRate(), problems);
    slowCall(breaker.slowCall(), problems);
    problems.milliseconds("open_for_us", breaker.openForUs());
    window(breaker.window(), problems);
    problems.atMost(
        "half_open_calls",
        breaker.halfOpenCalls(),
        breaker.minimumCalls(),
        "a half-open breaker of Resilience4j decides after minimum_calls results, without"
            + " waiting for further ones; minimum_calls is "
            + breaker.minimumCalls());
  }

  private static void slowCall(SlowCall slowCall, Problems problems) {
    if (slowCall != null) {
      rate("slow_call.rate", slowCall.rate(), problems);
      long most = Long.MAX_VALUE / 1000;
      String why = "Resilience4j counts nanoseconds";
      problems.atMost("slow_call.duration_us", slowCall.durationUs(), most, why);
    }
  }

  private static void window(Window window, Problems problems) {
    String why = "the window must fit in memory";
    if (window.calls() != null) {
      problems.atMost("window.calls", window.calls(), LARGEST_WINDOW, why);
    } else {
      problems.atMost("window.time_us", window.timeUs(), LARGEST_WINDOW * SECOND_US, why);
      String counts = "a time window in whole seconds";
      problems.multiple("window.time_us", window.timeUs(), SECOND_US, counts);
    }
  }

  /** A rate that is above 0 may still be 0 in the library's narrower type. */
  private static void rate(String path, double rate, Problems problems) {
    if ((float) rate <= 0) {
      String allowed = "at least " + Float.MIN_VALUE;
      problems.refuse(path, rate, "is too small for Resilience4j's float", allowed);
    }
  }

  private static void bulkhead(Bulkhead bulkhead, int users, Problems problems) {
    problems.milliseconds("max_wait_us", bulkhead.maxWaitUs());
    problems.boundedWaiting(bulkhead, users);
  }
}
