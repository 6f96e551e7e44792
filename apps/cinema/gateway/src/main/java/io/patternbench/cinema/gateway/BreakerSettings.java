package io.patternbench.cinema.gateway;

import java.time.Duration;
import java.util.List;
import org.springframework.boot.actuate.endpoint.InvalidEndpointRequestException;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.annotation.WriteOperation;
import org.springframework.cloud.circuitbreaker.resilience4j.ReactiveResilience4JCircuitBreakerFactory;
import org.springframework.cloud.gateway.event.RefreshRoutesEvent;
import org.springframework.context.ApplicationEventPublisher;
import org.springframework.lang.Nullable;
import org.springframework.stereotype.Component;

/**
 * The breakers of all routes; read and changed at {@code /actuator/breaker}, while it runs.
 *
 * <p>After a change, even to the same, all breakers are closed and have counted nothing yet. A
 * request that is under way keeps the breaker that it began with.
 */
@Component
@Endpoint(id = "breaker")
class BreakerSettings {
  private final ReactiveResilience4JCircuitBreakerFactory breakers;
  private final ApplicationEventPublisher events;
  private final List<String> names;
  private volatile BreakerLevels levels;

  BreakerSettings(
      GatewayProperties properties,
      ReactiveResilience4JCircuitBreakerFactory breakers,
      ApplicationEventPublisher events) {
    this.breakers = breakers;
    this.events = events;
    this.names = Target.all(properties.cinemas()).stream().map(Target::breaker).toList();
    use(properties.breaker());
  }

  @ReadOperation
  public BreakerLevels levels() {
    return levels;
  }

  /** Changes the settings that are given; the others stay. */
  @WriteOperation
  public synchronized BreakerLevels change(
      @Nullable Boolean breaker,
      @Nullable Duration timeout,
      @Nullable Integer window,
      @Nullable Integer minimum,
      @Nullable Float rate,
      @Nullable Duration wait,
      @Nullable Integer probes,
      @Nullable String statuses) {
    BreakerLevels now = levels;
    try {
      use(
          new BreakerLevels(
              or(breaker, now.breaker()),
              or(timeout, now.timeout()),
              or(window, now.window()),
              or(minimum, now.minimum()),
              or(rate, now.rate()),
              or(wait, now.openFor()),
              or(probes, now.probes()),
              or(statuses, now.statuses())));
    } catch (IllegalArgumentException e) {
      throw new InvalidEndpointRequestException(e.getMessage(), e.getMessage());
    }
    events.publishEvent(new RefreshRoutesEvent(this));
    return levels;
  }

  private static <T> T or(@Nullable T wanted, T now) {
    return wanted == null ? now : wanted;
  }

  /** Routes hold on to breakers by name, so those of the old levels are removed. */
  private void use(BreakerLevels wanted) {
    levels = wanted;
    breakers.configure(wanted::apply, names.toArray(String[]::new));
    for (String name : names) {
      breakers.getCircuitBreakerRegistry().remove(name);
      breakers.getTimeLimiterRegistry().remove(name);
    }
  }
}
