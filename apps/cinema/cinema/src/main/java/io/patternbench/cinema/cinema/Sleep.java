package io.patternbench.cinema.cinema;

import io.patternbench.apps.commons.Problems;
import java.time.Duration;

/** Holds the thread that serves a request, as slow work does. */
public final class Sleep {
  private Sleep() {}

  public static void of(Duration time) {
    try {
      Thread.sleep(time.toMillis());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw Problems.unavailable("the cinema is shutting down", e);
    }
  }
}
