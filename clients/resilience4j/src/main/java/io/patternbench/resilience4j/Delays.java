package io.patternbench.resilience4j;

import io.github.resilience4j.core.IntervalFunction;
import io.patternbench.resilience4j.Round.Backoff;
import io.patternbench.resilience4j.Round.Exponential;
import io.patternbench.resilience4j.Round.Fixed;
import io.patternbench.resilience4j.Round.Jitter;
import io.patternbench.resilience4j.Round.Linear;

/** The contract's delays as the library's interval functions, in whole milliseconds. */
final class Delays {
  private Delays() {}

  /**
   * The delay after each failed attempt, counted from 1.
   *
   * <p>The library's own exponential function cuts every delay to milliseconds before it multiplies
   * again, so that 20ms times 1.5 gives 100ms where 101.25ms is due. Each delay is therefore
   * computed from the first one and cut once. The spread is the library's.
   */
  static IntervalFunction of(Backoff backoff, Jitter jitter) {
    return attempt -> {
      long delay = millis(backoff, attempt);
      return delay == 0 || jitter.equals(Jitter.NONE)
          ? delay
          : IntervalFunction.ofRandomized(delay, jitter.share()).apply(attempt);
    };
  }

  static long millis(Backoff backoff, int attempt) {
    return (long) (micros(backoff, attempt - 1) / 1000);
  }

  private static double micros(Backoff backoff, int steps) {
    if (backoff instanceof Linear linear) {
      return capped(linear.initialUs() + (double) steps * linear.incrementUs(), linear.maxUs());
    }
    if (backoff instanceof Exponential e) {
      // Zero times infinity is not a number; no delay stays none.
      double grown = e.initialUs() == 0 ? 0 : e.initialUs() * Math.pow(e.multiplier(), steps);
      return capped(grown, e.maxUs());
    }
    return ((Fixed) backoff).delayUs();
  }

  private static double capped(double delayUs, Long maxUs) {
    return maxUs == null ? delayUs : Math.min(delayUs, maxUs);
  }
}
