package io.patternbench.resilience4j;

import io.github.resilience4j.core.IntervalFunction;
import io.patternbench.kit.Round.Backoff;
import io.patternbench.kit.Round.Jitter;

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
      long delay = (long) (backoff.delayUs(attempt) / 1000);
      return delay == 0 || jitter.equals(Jitter.NONE)
          ? delay
          : IntervalFunction.ofRandomized(delay, jitter.share()).apply(attempt);
    };
  }
}
