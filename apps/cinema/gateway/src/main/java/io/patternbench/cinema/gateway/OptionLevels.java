package io.patternbench.cinema.gateway;

import com.fasterxml.jackson.annotation.JsonProperty;
import io.patternbench.cinema.commons.Calls;
import io.patternbench.cinema.commons.Missing;
import java.time.Duration;

/**
 * What the gateway takes over from services.
 *
 * @param cache how long answers with movies are kept; 0 for not at all
 * @param authentication who checks that a caller has signed in
 * @param aggregation who joins what the cinemas answer
 * @param calls how the gateway asks the cinemas, where it joins their answers
 * @param missing what it does without one of them
 * @param view what of a cinema its clients see in lists that the gateway joins
 */
record OptionLevels(
    Duration cache,
    Authentication authentication,
    Aggregation aggregation,
    Calls calls,
    Missing missing,
    View view) {
  OptionLevels {
    if (cache.isNegative()) {
      throw new IllegalArgumentException("cache: expected 0 or more, got " + cache);
    }
  }

  /** Nobody, as published, or the gateway, before it passes a request on. */
  enum Authentication {
    @JsonProperty("none")
    NONE,
    @JsonProperty("gateway")
    GATEWAY
  }

  /** A service of its own, as published, or the gateway itself. */
  enum Aggregation {
    @JsonProperty("aggregator")
    AGGREGATOR,
    @JsonProperty("gateway")
    GATEWAY
  }

  /** All of it, as published, or its name and those of its movies, for small screens. */
  enum View {
    @JsonProperty("whole")
    WHOLE,
    @JsonProperty("names")
    NAMES
  }

  boolean caches() {
    return !cache.isZero();
  }
}
