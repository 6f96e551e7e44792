package io.patternbench.cinema.aggregator;

import com.fasterxml.jackson.annotation.JsonProperty;

/** The ways of asking all cinemas. The first of each is the published one. */
record Levels(Calls calls, Via via, Connections connections, Missing missing) {
  /** One call after the other, or all at the same time. */
  enum Calls {
    @JsonProperty("sequential")
    SEQUENTIAL,
    @JsonProperty("parallel")
    PARALLEL
  }

  /** Through the gateway, or to an instance that the registry names. */
  enum Via {
    @JsonProperty("gateway")
    GATEWAY,
    @JsonProperty("direct")
    DIRECT
  }

  /** The JDK's cache of five idle connections per address, a new one per call, or a pool. */
  enum Connections {
    @JsonProperty("jdk")
    JDK,
    @JsonProperty("unpooled")
    UNPOOLED,
    @JsonProperty("pooled")
    POOLED
  }

  /** A cinema that does not answer fails the whole answer, or is left out. */
  enum Missing {
    @JsonProperty("fail")
    FAIL,
    @JsonProperty("skip")
    SKIP
  }
}
