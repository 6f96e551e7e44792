package io.patternbench.kit;

import io.patternbench.kit.Round.Baseline;
import io.patternbench.kit.Round.CircuitBreaker;
import io.patternbench.kit.Round.Fixed;
import io.patternbench.kit.Round.Jitter;
import io.patternbench.kit.Round.Request;
import io.patternbench.kit.Round.Retry;
import io.patternbench.kit.Round.Stack;
import io.patternbench.kit.Round.Strategy;
import io.patternbench.kit.Round.Timeout;
import io.patternbench.kit.Round.Window;
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
          new Retry(2, new Fixed(0), Jitter.NONE, null, null),
          new CircuitBreaker(100, null, new Window(2, null), 2, 1_000, 1, "client"),
          new Stack(List.of(new Timeout(AT_MOST_US))));

  private WarmUp() {}

  static void against(int port, Adapter adapter) throws InterruptedException {
    for (Strategy strategy : STRATEGIES) {
      for (String path : List.of("/client", "/nothing-here")) {
        Round round = round(port, path, strategy);
        if (Expressible.problems(round, adapter).isEmpty()) {
          run(round, adapter);
        }
      }
    }
  }

  private static void run(Round round, Adapter adapter) throws InterruptedException {
    try (RunningRound running = new RunningRound(round, adapter)) {
      running.start();
      running.awaitEnd(AT_MOST_US / 1000);
      Rows.line(running.rows().take(), 0);
    }
  }

  private static Round round(int port, String path, Strategy strategy) {
    URI self = URI.create("http://127.0.0.1:" + port);
    Request request = new Request("GET", path, Map.of(), null, AT_MOST_US);
    // A call that is not found fails, and retries and breakers have their say.
    long timeLimitUs = path.equals("/client") ? AT_MOST_US : AT_MOST_US / 20;
    return new Round(
        Round.CONTRACT, self, request, 1, 0, CALLS, CALLS, 1_000, timeLimitUs, 0, strategy);
  }
}
