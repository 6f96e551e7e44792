package io.patternbench.insurance.commons.bundle;

import com.fasterxml.jackson.annotation.JsonProperty;

/** How a bundle reaches the database: with a statement for each item, or with one for all. */
public enum BundleReads implements Portions {
  @JsonProperty("one_by_one")
  ONE_BY_ONE,
  @JsonProperty("batched")
  BATCHED;

  @Override
  public boolean together() {
    return this == BATCHED;
  }
}
