package io.patternbench.cinema.gateway;

import java.util.List;
import org.springframework.boot.actuate.health.Health;
import org.springframework.boot.actuate.health.ReactiveHealthIndicator;
import org.springframework.cloud.client.discovery.ReactiveDiscoveryClient;
import org.springframework.stereotype.Component;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** Up when the gateway knows an instance for each of its routes. */
@Component("routesHealthIndicator")
class RoutesHealth implements ReactiveHealthIndicator {
  private final ReactiveDiscoveryClient discovery;
  private final List<Target> targets;

  RoutesHealth(ReactiveDiscoveryClient discovery, GatewayProperties properties) {
    this.discovery = discovery;
    this.targets = Target.all(properties.cinemas());
  }

  @Override
  public Mono<Health> health() {
    return Flux.fromIterable(targets)
        .map(Target::service)
        .filterWhen(service -> discovery.getInstances(service).hasElements().map(there -> !there))
        .collectList()
        .map(RoutesHealth::without);
  }

  private static Health without(List<String> missing) {
    return missing.isEmpty()
        ? Health.up().build()
        : Health.down().withDetail("missing", missing).build();
  }
}
