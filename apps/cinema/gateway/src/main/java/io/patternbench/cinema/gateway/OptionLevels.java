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
 */
record OptionLevels(
    Duration cache,
    Authentication authentication,
    Aggregation aggregation,
    Calls calls,
    Missing missing) {
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

  boolean caches() {
    return !cache.isZero();
  }
}
