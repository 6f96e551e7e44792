package io.patternbench.cinema.gateway;

import io.patternbench.cinema.commons.Cinema;
import java.util.ArrayList;
import java.util.List;

/** A service that requests are passed to, and the paths that are its own. */
record Target(String service, String paths) {
  static List<Target> all(List<String> cinemas) {
    List<Target> all = new ArrayList<>();
    all.add(new Target("aggregator-service", "/api/**"));
    cinemas.forEach(c -> all.add(new Target(Cinema.service(c), "/cinema/" + c + "/**")));
    return all;
  }

  String breaker() {
    return service + "-cb";
  }
}
