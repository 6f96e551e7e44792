package io.patternbench.insurance.commons.bundle;

import com.fasterxml.jackson.annotation.JsonProperty;

/** How a bundle reaches the next service: with a call for each item, or with one for all. */
public enum BundleForward implements Portions {
  @JsonProperty("each")
  EACH,
  @JsonProperty("once")
  ONCE;

  @Override
  public boolean together() {
    return this == ONCE;
  }
}
