package io.patternbench.cinema.gateway;

import io.patternbench.cinema.gateway.OptionLevels.Aggregation;
import java.net.URI;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.springframework.cloud.gateway.filter.FilterDefinition;
import org.springframework.cloud.gateway.handler.predicate.PredicateDefinition;
import org.springframework.cloud.gateway.route.RouteDefinition;
import org.springframework.cloud.gateway.route.RouteDefinitionLocator;
import org.springframework.stereotype.Component;
import reactor.core.publisher.Flux;

/** The routes of each service, with the breaker and the options that the settings say. */
@Component
class Routes implements RouteDefinitionLocator {
  private static final String CACHE_SIZE = "16MB";

  private final List<Target> targets;
  private final BreakerSettings breakers;
  private final OptionSettings options;

  Routes(GatewayProperties properties, BreakerSettings breakers, OptionSettings options) {
    this.targets = Target.all(properties.cinemas());
    this.breakers = breakers;
    this.options = options;
  }

  @Override
  public Flux<RouteDefinition> getRouteDefinitions() {
    return Flux.defer(() -> Flux.fromIterable(targets).flatMapIterable(this::routes));
  }

  /** The routes of a service: first those that say more than its paths. */
  private List<RouteDefinition> routes(Target target) {
    List<RouteDefinition> all = new ArrayList<>();
    OptionLevels levels = options.levels();
    boolean joined = target.aggregates() && levels.aggregation() == Aggregation.GATEWAY;
    Stream.of("list", "find")
        .filter(operation -> joined || levels.caches())
        .forEach(operation -> all.add(movies(target, operation, joined)));
    all.add(plain(target));
    for (int order = 0; order < all.size(); order++) {
      all.get(order).setOrder(order);
    }
    return all;
  }

  private RouteDefinition movies(Target target, String operation, boolean joined) {
    RouteDefinition route = plain(target);
    route.setId("%s-movie-%s".formatted(target.service(), operation));
    route.setPredicates(
        List.of(new PredicateDefinition("Path=" + target.prefix() + "/movie/" + operation)));
    if (joined) {
      route.setUri(URI.create("forward:" + JoinedMovies.PATH + "/" + operation));
    }
    if (options.levels().caches()) {
      route.getFilters().add(0, cache()); // what is kept needs no breaker
    }
    return route;
  }

  private RouteDefinition plain(Target target) {
    RouteDefinition route = new RouteDefinition();
    route.setId(target.service() + "-route");
    route.setUri(URI.create("lb://" + target.service()));
    route.setPredicates(List.of(new PredicateDefinition("Path=" + target.paths())));
    if (breakers.levels().breaker()) {
      route.getFilters().add(breaker(target));
    }
    return route;
  }

  private FilterDefinition cache() {
    long kept = options.levels().cache().toMillis();
    return filter("LocalResponseCache", Map.of("timeToLive", kept + "ms", "size", CACHE_SIZE));
  }

  private FilterDefinition breaker(Target target) {
    Map<String, String> arguments = new HashMap<>();
    arguments.put("name", target.breaker());
    arguments.put("fallbackUri", "forward:" + Fallback.PATH + target.service());
    List<String> failures = breakers.levels().failures();
    for (int i = 0; i < failures.size(); i++) {
      arguments.put("statusCodes[" + i + "]", failures.get(i));
    }
    return filter("CircuitBreaker", arguments);
  }

  private static FilterDefinition filter(String name, Map<String, String> arguments) {
    FilterDefinition filter = new FilterDefinition();
    filter.setName(name);
    filter.setArgs(new HashMap<>(arguments));
    return filter;
  }
}
