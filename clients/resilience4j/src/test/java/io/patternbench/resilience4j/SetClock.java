package io.patternbench.resilience4j;

import java.time.Clock;
import java.time.Instant;
import java.time.ZoneId;
import java.time.ZoneOffset;

/** Shows the time that it was set to. */
final class SetClock extends Clock {
  long nowUs;

  @Override
  public Instant instant() {
    return Instant.EPOCH.plusNanos(nowUs * 1000);
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
