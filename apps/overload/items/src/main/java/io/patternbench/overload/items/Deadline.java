package io.patternbench.overload.items;

import io.patternbench.apps.commons.Problems;
import java.time.Duration;
import org.springframework.web.ErrorResponseException;

/**
 * Until when a request may keep the database busy.
 *
 * @param atNanos as {@link System#nanoTime} counts
 */
record Deadline(long atNanos) {
  static Deadline in(Duration time) {
    return new Deadline(System.nanoTime() + time.toNanos());
  }

  long leftNanos() {
    return Math.max(atNanos - System.nanoTime(), 0);
  }

  /** Ends the request with 503 once its time is over. */
  void check() {
    if (leftNanos() == 0) {
      throw passed();
    }
  }

  static ErrorResponseException passed() {
    return Problems.unavailable("the database was too slow", null);
  }
}
