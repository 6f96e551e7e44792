package io.patternbench.cinema.cinema.http;

import io.patternbench.apps.commons.Problems;
import io.patternbench.cinema.cinema.Sleep;
import java.time.Duration;

/** Answers that take as long as they are asked to, which is how breakers are shown. */
final class Delay {
  private static final int MOST_SECONDS = 60;

  private Delay() {}

  static String of(int seconds) {
    if (seconds < 0 || seconds > MOST_SECONDS) {
      throw Problems.badRequest(
          "the delay: expected 0 to %d seconds, got %d".formatted(MOST_SECONDS, seconds));
    }
    Sleep.of(Duration.ofSeconds(seconds));
    return "answered after %d s".formatted(seconds);
  }
}
