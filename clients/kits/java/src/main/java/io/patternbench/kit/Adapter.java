package io.patternbench.kit;

import io.patternbench.kit.Round.Policy;
import java.util.List;

/** What a client has that is special about its library; the kit does the rest. */
public interface Adapter {
  /** Who this client is. */
  Description description();

  /** Says what of a policy the library cannot do exactly: by name, never rounded or clamped. */
  void refuse(Entry entry, Problems problems);

  /**
   * A new policy of the library, with every parameter set.
   *
   * <p>The kit asks once for each round, or once for each user, as the policy's scope says.
   */
  Guard guard(Policy policy);

  /**
   * A policy where it stands in a round.
   *
   * @param guarded the policies further in, the outermost first
   * @param users how many virtual users there are
   */
  record Entry(Policy policy, List<Policy> guarded, int users) {}
}
