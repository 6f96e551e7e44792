package io.patternbench.cinema.aggregator;

import com.fasterxml.jackson.annotation.JsonProperty;
import io.patternbench.cinema.commons.Calls;
import io.patternbench.cinema.commons.Missing;

/** The ways of asking all cinemas. The first of each is the published one. */
record Levels(Calls calls, Via via, Connections connections, Missing missing) {
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
}
