package io.patternbench.cinema.broker;

import com.fasterxml.jackson.annotation.JsonProperty;
import io.patternbench.apps.commons.Problems;
import java.time.Duration;
import java.util.Arrays;

/**
 * The ways of fetching and keeping answers.
 *
 * @param holdFor how long a request is held that waits for answers, on the wire {@code wait}
 * @param keep how old a request gets, where age evicts
 */
record Levels(
    Fetch fetch, @JsonProperty("wait") Duration holdFor, Eviction eviction, Duration keep) {
  private static final Duration LONGEST = Duration.ofMinutes(5);

  /** What a request for answers gets that comes before all of them are there. */
  enum Fetch {
    /** What is there; a failure if nothing is. As published. */
    @JsonProperty("at_once")
    AT_ONCE,
    /** What is there, and that it is not all. */
    @JsonProperty("until_ready")
    UNTIL_READY,
    /** Nothing until all of them are there, or the time is over. */
    @JsonProperty("long_poll")
    LONG_POLL,
    /** Each as it comes. */
    @JsonProperty("pushed")
    PUSHED;

    static Fetch of(String name) {
      return Arrays.stream(values())
          .filter(level -> level.name().equalsIgnoreCase(name))
          .findFirst()
          .orElseThrow(
              () ->
                  Problems.badRequest("fetch: expected at_once, until_ready, long_poll or pushed"));
    }
  }

  enum Eviction {
    /** None is forgotten. As published. */
    @JsonProperty("none")
    NONE,
    @JsonProperty("age")
    AGE
  }

  Levels {
    require(!holdFor.isNegative() && holdFor.compareTo(LONGEST) <= 0, "wait", "0ms to 5m", holdFor);
    require(!keep.isNegative() && !keep.isZero(), "keep", "more than 0", keep);
  }

  private static void require(boolean holds, String name, String allowed, Object got) {
    if (!holds) {
      throw new IllegalArgumentException("%s: expected %s, got %s".formatted(name, allowed, got));
    }
  }
}
