package io.patternbench.kit;

import io.patternbench.kit.Round.Policy;
import io.patternbench.kit.Round.Strategy;
import java.util.ArrayList;
import java.util.List;

/** The guards of one round: those that all users share, and new ones for each user. */
final class Guards {
  private final List<Policy> policies;
  private final Adapter adapter;
  private final List<Guard> shared = new ArrayList<>();

  Guards(Strategy strategy, Adapter adapter) {
    this.policies = strategy.policies();
    this.adapter = adapter;
    policies.forEach(policy -> shared.add(policy.shared() ? adapter.guard(policy) : null));
  }

  /** The guards of one user, the outermost first. */
  List<Guard> ofUser() {
    List<Guard> guards = new ArrayList<>(shared);
    for (int i = 0; i < guards.size(); i++) {
      if (guards.get(i) == null) {
        guards.set(i, adapter.guard(policies.get(i)));
      }
    }
    return guards;
  }
}
