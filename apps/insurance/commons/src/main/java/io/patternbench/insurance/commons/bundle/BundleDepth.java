package io.patternbench.insurance.commons.bundle;

import com.fasterxml.jackson.annotation.JsonInclude;

/**
 * How far down a bundle goes. A setting is null in a service where it has nothing to act on.
 *
 * @param reads on the way to the database
 * @param forward on the way to the next service
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
public record BundleDepth(BundleReads reads, BundleForward forward) {
  /**
   * What succeeds or fails in one transaction: a single item, if everything is done item by item.
   */
  public Portions transactions() {
    return () -> reads.together() || forward.together();
  }
}
