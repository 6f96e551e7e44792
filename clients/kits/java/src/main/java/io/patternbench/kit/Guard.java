package io.patternbench.kit;

import java.util.List;
import java.util.function.Supplier;

/** A policy of a library around what it guards. */
@FunctionalInterface
public interface Guard {
  /**
   * The outcome of what is guarded, once the policy has had its say.
   *
   * @throws Rejected when the policy lets nothing through, or what it guards did not
   */
  int call(Supplier<Integer> guarded);

  /** Puts guards around an attempt, the first one outermost. */
  static Supplier<Integer> stacked(List<Guard> guards, Supplier<Integer> attempt) {
    Supplier<Integer> stacked = attempt;
    for (int i = guards.size() - 1; i >= 0; i--) {
      Guard outer = guards.get(i);
      Supplier<Integer> inner = stacked;
      stacked = () -> outer.call(inner);
    }
    return stacked;
  }
}
