package io.patternbench.cinema.aggregator;

import java.util.ArrayList;
import java.util.List;
import org.springframework.boot.actuate.health.Health;
import org.springframework.boot.actuate.health.HealthIndicator;
import org.springframework.stereotype.Component;

/** Up when the aggregator knows an instance of each cinema that there is to be. */
@Component("cinemasHealthIndicator")
class CinemasHealth implements HealthIndicator {
  private final Directory directory;
  private final List<String> expected;

  CinemasHealth(Directory directory, AggregatorProperties properties) {
    this.directory = directory;
    this.expected = properties.cinemas();
  }

  @Override
  public Health health() {
    List<String> missing = new ArrayList<>(expected);
    missing.removeAll(directory.cinemas());
    return missing.isEmpty()
        ? Health.up().build()
        : Health.down().withDetail("missing", missing).build();
  }
}
