package io.patternbench.overload.items;

import io.patternbench.apps.commons.Problems;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.stereotype.Component;

/** The way to the database: a request for each connection, and a bound of those that wait. */
@Component
class Gate {
  private final int connections;
  private final AtomicInteger inside = new AtomicInteger();

  Gate(@Value("${spring.datasource.hikari.maximum-pool-size}") int connections) {
    this.connections = connections;
  }

  /** Does some work for a request; beyond the bound the request ends with 503 at once. */
  <T> T admit(int waiting, Supplier<T> work) {
    if (!enters(waiting)) {
      throw Problems.unavailable("too many requests wait for the database", null);
    }
    try {
      return work.get();
    } finally {
      inside.decrementAndGet();
    }
  }

  private boolean enters(int waiting) {
    long most = (long) connections + waiting;
    return inside.getAndUpdate(number -> number < most ? number + 1 : number) < most;
  }

  boolean isEmpty() {
    return inside.get() == 0;
  }
}
