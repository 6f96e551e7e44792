package io.patternbench.cinema.commons;

import com.fasterxml.jackson.annotation.JsonProperty;

/** How all cinemas are asked: one call after the other, as published, or all at the same time. */
public enum Calls {
  @JsonProperty("sequential")
  SEQUENTIAL,
  @JsonProperty("parallel")
  PARALLEL
}
