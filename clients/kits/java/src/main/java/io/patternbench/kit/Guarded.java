package io.patternbench.kit;

import java.util.function.Supplier;

/**
 * What a guard guards: an attempt, or the policies further in. Each call of {@code get} is a run.
 */
@FunctionalInterface
public interface Guarded extends Supplier<Integer> {
  /**
   * What ends the next run, from any thread, however long that takes; afterwards it does nothing.
   *
   * <p>A run that was ended gives {@link Outcome#TIMEOUT}: the attempt under way ends so, a pause
   * is interrupted, and no further attempt begins.
   */
  default Runnable cutter() {
    return () -> {};
  }
}
