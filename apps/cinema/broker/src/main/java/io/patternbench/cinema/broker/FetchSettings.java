package io.patternbench.cinema.broker;

import io.patternbench.cinema.broker.Levels.Eviction;
import io.patternbench.cinema.broker.Levels.Fetch;
import java.time.Duration;
import org.springframework.boot.actuate.endpoint.InvalidEndpointRequestException;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.annotation.WriteOperation;
import org.springframework.lang.Nullable;
import org.springframework.stereotype.Component;

/** How answers are fetched and kept; read and changed at {@code /actuator/fetching}. */
@Component
@Endpoint(id = "fetching")
class FetchSettings {
  private volatile Levels levels;

  FetchSettings(BrokerProperties properties) {
    levels = properties.levels();
  }

  @ReadOperation
  public Levels levels() {
    return levels;
  }

  /** Changes the settings that are given; the others stay. */
  @WriteOperation
  public synchronized Levels change(
      @Nullable Fetch fetch,
      @Nullable Duration wait,
      @Nullable Eviction eviction,
      @Nullable Duration keep) {
    try {
      levels =
          new Levels(
              or(fetch, levels.fetch()),
              or(wait, levels.holdFor()),
              or(eviction, levels.eviction()),
              or(keep, levels.keep()));
    } catch (IllegalArgumentException e) {
      throw new InvalidEndpointRequestException(e.getMessage(), e.getMessage());
    }
    return levels;
  }

  private static <T> T or(@Nullable T wanted, T now) {
    return wanted == null ? now : wanted;
  }
}
