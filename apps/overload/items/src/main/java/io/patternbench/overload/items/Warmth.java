package io.patternbench.overload.items;

import io.patternbench.apps.commons.Problems;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.WriteOperation;
import org.springframework.stereotype.Component;

/**
 * {@code POST /actuator/warm} puts all items into the cache and waits until no request is at the
 * database, so that a round begins as every other.
 */
@Component
@Endpoint(id = "warm")
class Warmth {
  private static final Duration WITHIN = Duration.ofSeconds(25);
  private static final Duration STILL = Duration.ofMillis(200);
  private static final long LOOKS_EVERY_MS = 20;

  private final Cache cache;
  private final Database database;
  private final Gate gate;
  private final LiveOptions options;

  Warmth(Cache cache, Database database, Gate gate, LiveOptions options) {
    this.cache = cache;
    this.database = database;
    this.gate = gate;
    this.options = options;
  }

  @WriteOperation
  Map<String, Integer> warm() throws InterruptedException {
    int items = fill();
    waitUntilStill();
    return Map.of("items", items);
  }

  /**
   * Puts every item into the cache. Where it keeps them for a time, their ends are spread over it.
   */
  int fill() {
    Options now = options.now();
    List<Item> items = database.computed(now.lookups());
    for (int i = 0; i < items.size(); i++) {
      cache.put(items.get(i), now.ttl().multipliedBy(i + 1).dividedBy(items.size()));
    }
    return items.size();
  }

  private void waitUntilStill() throws InterruptedException {
    Deadline deadline = Deadline.in(WITHIN);
    Deadline still = Deadline.in(STILL);
    while (still.leftNanos() > 0) {
      Thread.sleep(LOOKS_EVERY_MS);
      still = gate.isEmpty() ? still : Deadline.in(STILL);
      if (deadline.leftNanos() == 0) {
        throw Problems.unavailable("requests are still at the database after " + WITHIN, null);
      }
    }
  }
}
