package io.patternbench.overload.items;

import java.time.Duration;

/**
 * What may change while the service runs.
 *
 * @param singleFlight whether requests for one item that is not in the cache share one lookup
 * @param waiting how many requests may wait for a connection to the database
 * @param timeout how long a request may wait for a connection and look up, together
 * @param ttl how long the cache keeps an item; zero is for ever
 * @param lookups how many rows one lookup reads, one after another
 */
record Options(boolean singleFlight, int waiting, Duration timeout, Duration ttl, int lookups) {
  static final String UNBOUNDED = "unbounded";
  static final int ANY_NUMBER = Integer.MAX_VALUE;

  /** HikariCP waits no shorter than this for a connection. */
  private static final Duration SHORTEST = Duration.ofMillis(250);

  Options {
    allow(waiting >= 0, "waiting is " + waiting + "; allowed: 0 or more, or " + UNBOUNDED);
    allow(timeout.compareTo(SHORTEST) >= 0, "timeout is " + timeout + "; allowed: 250ms or more");
    allow(!ttl.isNegative(), "ttl is " + ttl + "; allowed: 0ms for ever, or more");
    allow(lookups >= 1, "lookups is " + lookups + "; allowed: 1 or more");
  }

  private static void allow(boolean holds, String otherwise) {
    if (!holds) {
      throw new IllegalArgumentException(otherwise);
    }
  }

  /** The bound that a text names: a number, or {@code unbounded}. */
  static int bound(String text) {
    try {
      return UNBOUNDED.equals(text) ? ANY_NUMBER : Integer.parseInt(text);
    } catch (NumberFormatException e) {
      String allowed = "waiting is %s; allowed: 0 or more, or %s".formatted(text, UNBOUNDED);
      throw new IllegalArgumentException(allowed, e);
    }
  }
}
