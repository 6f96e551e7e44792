package io.patternbench.resilience4j;

import java.time.Clock;
import java.time.Instant;
import java.time.ZoneId;
import java.time.ZoneOffset;

/** A clock that never steps, for a library that measures its waits with the time of day. */
final class MonotonicClock extends Clock {
  private final Instant origin = Instant.now();
  private final long originNanos = System.nanoTime();

  @Override
  public Instant instant() {
    return origin.plusNanos(System.nanoTime() - originNanos);
  }

  @Override
  public ZoneId getZone() {
    return ZoneOffset.UTC;
  }

  @Override
  public Clock withZone(ZoneId zone) {
    return this;
  }
}
