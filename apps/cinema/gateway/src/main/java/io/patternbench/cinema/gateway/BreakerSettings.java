package io.patternbench.cinema.gateway;

import io.github.resilience4j.circuitbreaker.CircuitBreaker;
import io.github.resilience4j.circuitbreaker.CircuitBreakerRegistry;
import io.github.resilience4j.timelimiter.TimeLimiter;
import io.github.resilience4j.timelimiter.TimeLimiterRegistry;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.springframework.boot.actuate.endpoint.InvalidEndpointRequestException;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.annotation.WriteOperation;
import org.springframework.cloud.circuitbreaker.resilience4j.ReactiveResilience4JCircuitBreakerFactory;
import org.springframework.cloud.gateway.event.RefreshRoutesEvent;
import org.springframework.context.ApplicationEventPublisher;
import org.springframework.lang.Nullable;
import org.springframework.stereotype.Component;
import reactor.core.publisher.Mono;

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

  /**
   * A route takes its breaker by name, so the new one must be there before any route asks for it.
   */
  private void use(BreakerLevels wanted) {
    levels = wanted;
    breakers.configure(wanted::apply, names.toArray(String[]::new));
    names.forEach(this::replace);
  }

  /**
   * Puts a new breaker and time limit in the place of the old ones in one step each.
   *
   * <p>If they were removed instead, a request on a route from before the change would put breakers
   * of the old levels back under the same names, and the new routes would take those.
   */
  private void replace(String name) {
    breakers.create(name).run(Mono.empty()); // so that both are there, with the factory's tags
    CircuitBreakerRegistry circuits = breakers.getCircuitBreakerRegistry();
    Map<String, String> tags = circuits.circuitBreaker(name).getTags();
    circuits.replace(name, CircuitBreaker.of(name, levels.circuit(), tags));
    TimeLimiterRegistry limits = breakers.getTimeLimiterRegistry();
    limits.replace(name, TimeLimiter.of(name, levels.limit(), limits.timeLimiter(name).getTags()));
  }
}
