package io.patternbench.overload.items;

import java.time.Duration;
import java.util.Optional;

/** What is asked before the database. A cache that does not answer has nothing. */
interface Cache {
  Optional<Item> get(long id);

  /** Keeps an item for a time; zero is for ever. */
  void put(Item item, Duration ttl);

  /** No cache: every request asks the database. */
  Cache NONE =
      new Cache() {
        @Override
        public Optional<Item> get(long id) {
          return Optional.empty();
        }

        @Override
        public void put(Item item, Duration ttl) {}
      };
}
