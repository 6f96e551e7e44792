package io.patternbench.cinema.commons;

import com.fasterxml.jackson.annotation.JsonProperty;

/** A cinema that does not answer fails the whole answer, as published, or is left out. */
public enum Missing {
  @JsonProperty("fail")
  FAIL,
  @JsonProperty("skip")
  SKIP
}
