package io.patternbench.cinema.aggregator;

import io.patternbench.cinema.aggregator.Levels.Connections;
import io.patternbench.cinema.aggregator.Levels.Via;
import io.patternbench.cinema.commons.Calls;
import io.patternbench.cinema.commons.Missing;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.annotation.WriteOperation;
import org.springframework.lang.Nullable;
import org.springframework.stereotype.Component;

/**
 * How cinemas are asked; read and changed at {@code /actuator/aggregation}, while it runs. A
 * request asks for the levels once, so a change never falls into the middle of one.
 */
@Component
@Endpoint(id = "aggregation")
class AggregationSettings {
  private volatile Levels levels;

  AggregationSettings(AggregatorProperties properties) {
    levels = properties.levels();
  }

  @ReadOperation
  public Levels levels() {
    return levels;
  }

  /** Changes the settings that are given; the others stay. */
  @WriteOperation
  public synchronized Levels change(
      @Nullable Calls calls,
      @Nullable Via via,
      @Nullable Connections connections,
      @Nullable Missing missing) {
    levels =
        new Levels(
            or(calls, levels.calls()),
            or(via, levels.via()),
            or(connections, levels.connections()),
            or(missing, levels.missing()));
    return levels;
  }

  private static <T> T or(@Nullable T wanted, T now) {
    return wanted == null ? now : wanted;
  }
}
