package io.patternbench.overload.heap;

import java.time.Duration;
import java.util.Map;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;

/**
 * Makes many small objects, keeps them for a time as if it waited for another service, and lets
 * them go.
 */
@RestController
class WorkController {
  private final int pairs;
  private final Duration held;

  WorkController(@Value("${heap.pairs}") int pairs, @Value("${heap.held}") Duration held) {
    this.pairs = pairs;
    this.held = held;
  }

  @GetMapping("/work")
  Map<String, Long> work() throws InterruptedException {
    int[][] made = new int[pairs][];
    for (int i = 0; i < pairs; i++) {
      made[i] = new int[] {i, i};
    }
    Thread.sleep(held.toMillis());
    return Map.of("sum", sum(made));
  }

  /** Reads every pair, so that none is garbage before its time. */
  private static long sum(int[][] made) {
    long sum = 0;
    for (int[] pair : made) {
      sum += pair[1];
    }
    return sum;
  }
}
