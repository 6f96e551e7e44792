package io.patternbench.cinema.gateway;

import java.net.URI;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.springframework.cloud.gateway.filter.FilterDefinition;
import org.springframework.cloud.gateway.handler.predicate.PredicateDefinition;
import org.springframework.cloud.gateway.route.RouteDefinition;
import org.springframework.cloud.gateway.route.RouteDefinitionLocator;
import org.springframework.stereotype.Component;
import reactor.core.publisher.Flux;

/** A route per service, by its logical name, with the breaker that the settings say. */
@Component
class Routes implements RouteDefinitionLocator {
  private final List<Target> targets;
  private final BreakerSettings settings;

  Routes(GatewayProperties properties, BreakerSettings settings) {
    this.targets = Target.all(properties.cinemas());
    this.settings = settings;
  }

  @Override
  public Flux<RouteDefinition> getRouteDefinitions() {
    return Flux.defer(() -> Flux.fromIterable(targets).map(target -> route(target)));
  }

  private RouteDefinition route(Target target) {
    RouteDefinition route = new RouteDefinition();
    route.setId(target.service() + "-route");
    route.setUri(URI.create("lb://" + target.service()));
    route.setPredicates(List.of(new PredicateDefinition("Path=" + target.paths())));
    if (settings.levels().breaker()) {
      route.setFilters(List.of(breaker(target)));
    }
    return route;
  }

  private FilterDefinition breaker(Target target) {
    Map<String, String> arguments = new HashMap<>();
    arguments.put("name", target.breaker());
    arguments.put("fallbackUri", "forward:" + Fallback.PATH + target.service());
    List<String> failures = settings.levels().failures();
    for (int i = 0; i < failures.size(); i++) {
      arguments.put("statusCodes[" + i + "]", failures.get(i));
    }
    FilterDefinition filter = new FilterDefinition();
    filter.setName("CircuitBreaker");
    filter.setArgs(arguments);
    return filter;
  }
}
