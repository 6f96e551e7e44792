package io.patternbench.cinema.gateway;

import io.patternbench.cinema.commons.Cinema;
import java.util.ArrayList;
import java.util.List;

/** A service that requests are passed to, and how the paths begin that are its own. */
record Target(String service, String prefix) {
  private static final String AGGREGATOR = "aggregator-service";

  static List<Target> all(List<String> cinemas) {
    List<Target> all = new ArrayList<>();
    all.add(new Target(AGGREGATOR, "/api"));
    cinemas.forEach(c -> all.add(new Target(Cinema.service(c), "/cinema/" + c)));
    return all;
  }

  String paths() {
    return prefix + "/**";
  }

  boolean aggregates() {
    return service.equals(AGGREGATOR);
  }

  String breaker() {
    return service + "-cb";
  }
}
