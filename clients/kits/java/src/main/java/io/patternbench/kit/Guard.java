package io.patternbench.kit;

/** A policy of a library around what it guards. */
@FunctionalInterface
public interface Guard {
  /**
   * The outcome of what is guarded, once the policy has had its say.
   *
   * @throws Rejected when the policy lets nothing through, or what it guards did not
   */
  int call(Guarded guarded);
}
