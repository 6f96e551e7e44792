package io.patternbench.overload.items;

import java.util.function.Supplier;
import org.springframework.stereotype.Service;

/** Asks the cache, and if it has nothing the database, whose answer it puts into the cache. */
@Service
class LookAside {
  private final Cache cache;
  private final Database database;
  private final Gate gate;
  private final Flights flights;
  private final LiveOptions options;

  LookAside(Cache cache, Database database, Gate gate, Flights flights, LiveOptions options) {
    this.cache = cache;
    this.database = database;
    this.gate = gate;
    this.flights = flights;
    this.options = options;
  }

  Item item(long id) {
    return cache.get(id).orElseGet(() -> missed(id));
  }

  private Item missed(long id) {
    Options now = options.now();
    Deadline deadline = Deadline.in(now.timeout());
    Supplier<Item> lookup = () -> gate.admit(now.waiting(), () -> lookedUp(id, now, deadline));
    return now.singleFlight() ? flights.share(id, deadline, lookup) : lookup.get();
  }

  private Item lookedUp(long id, Options now, Deadline deadline) {
    Item item = database.item(id, now.lookups(), deadline);
    cache.put(item, now.ttl());
    return item;
  }

  String keep(long item, String text) {
    return gate.admit(options.now().waiting(), () -> database.keep(item, text));
  }
}
