package io.patternbench.cinema.gateway;

import io.patternbench.cinema.commons.Calls;
import io.patternbench.cinema.commons.Missing;
import io.patternbench.cinema.gateway.OptionLevels.Aggregation;
import io.patternbench.cinema.gateway.OptionLevels.Authentication;
import io.patternbench.cinema.gateway.OptionLevels.View;
import java.time.Duration;
import org.springframework.boot.actuate.endpoint.InvalidEndpointRequestException;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.annotation.WriteOperation;
import org.springframework.cloud.gateway.event.RefreshRoutesEvent;
import org.springframework.context.ApplicationEventPublisher;
import org.springframework.lang.Nullable;
import org.springframework.stereotype.Component;

/**
 * What the gateway takes over; read and changed at {@code /actuator/options}, while it runs.
 *
 * <p>After a change, even to the same, nothing is kept any more.
 */
@Component
@Endpoint(id = "options")
class OptionSettings {
  private final ApplicationEventPublisher events;
  private volatile OptionLevels levels;

  OptionSettings(GatewayProperties properties, ApplicationEventPublisher events) {
    this.levels = properties.options();
    this.events = events;
  }

  @ReadOperation
  public OptionLevels levels() {
    return levels;
  }

  /** Changes the settings that are given; the others stay. */
  @WriteOperation
  public synchronized OptionLevels change(
      @Nullable Duration cache,
      @Nullable Authentication authentication,
      @Nullable Aggregation aggregation,
      @Nullable Calls calls,
      @Nullable Missing missing,
      @Nullable View view) {
    try {
      levels =
          new OptionLevels(
              or(cache, levels.cache()),
              or(authentication, levels.authentication()),
              or(aggregation, levels.aggregation()),
              or(calls, levels.calls()),
              or(missing, levels.missing()),
              or(view, levels.view()));
    } catch (IllegalArgumentException e) {
      throw new InvalidEndpointRequestException(e.getMessage(), e.getMessage());
    }
    events.publishEvent(new RefreshRoutesEvent(this)); // new routes have new caches
    return levels;
  }

  private static <T> T or(@Nullable T wanted, T now) {
    return wanted == null ? now : wanted;
  }
}
