package io.patternbench.resilience4j;

import io.patternbench.resilience4j.Round.Baseline;
import io.patternbench.resilience4j.Round.Breaking;
import io.patternbench.resilience4j.Round.Fixed;
import io.patternbench.resilience4j.Round.Jitter;
import io.patternbench.resilience4j.Round.LastCalls;
import io.patternbench.resilience4j.Round.Request;
import io.patternbench.resilience4j.Round.Retrying;
import io.patternbench.resilience4j.Round.Strategy;
import java.net.URI;
import java.util.List;
import java.util.Map;

/**
 * Runs each strategy once against this client itself before it says that it listens.
 *
 * <p>The first calls of a fresh JVM load and compile classes for tens of milliseconds, which would
 * be counted as response time of whichever scenario comes first.
 */
final class WarmUp {
  private static final long CALLS = 300;
  private static final long AT_MOST_US = 2_000_000;
  private static final List<Strategy> STRATEGIES =
      List.of(
          new Baseline(),
          new Retrying(2, new Fixed(0), Jitter.NONE),
          new Breaking(100, null, new LastCalls(2), 2, 1_000, 1, true));

  private WarmUp() {}

  static void against(int port) throws InterruptedException {
    for (Strategy strategy : STRATEGIES) {
      for (String path : List.of("/client", "/nothing-here")) {
        try (RunningRound running = new RunningRound(round(port, path, strategy))) {
          running.start();
          running.awaitEnd(AT_MOST_US / 1000);
          Rows.line(running.rows().take(), 0);
        }
      }
    }
  }

  private static Round round(int port, String path, Strategy strategy) {
    URI self = URI.create("http://127.0.0.1:" + port);
    Request request = new Request("GET", path, Map.of(), null, AT_MOST_US);
    // A call that is not found fails, and retries and breakers have their say.
    long timeLimitUs = path.equals("/client") ? AT_MOST_US : AT_MOST_US / 20;
    return new Round(self, request, 1, 0, CALLS, CALLS, 1_000, timeLimitUs, strategy);
  }
}
