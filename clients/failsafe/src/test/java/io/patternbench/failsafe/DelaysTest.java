package io.patternbench.failsafe;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.databind.JsonNode;
import dev.failsafe.Failsafe;
import dev.failsafe.RetryPolicy;
import dev.failsafe.spi.Scheduler;
import io.patternbench.kit.Outcome;
import io.patternbench.kit.Round.Retry;
import io.patternbench.kit.Rounds;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** How long the library, configured by us, waits before each further attempt. */
class DelaysTest {
  static Stream<JsonNode> vectors() {
    return StreamSupport.stream(Rounds.vectors("backoff").spliterator(), false);
  }

  @ParameterizedTest
  @MethodSource("vectors")
  void theLibraryWaitsAsTheSharedVectorsSay(JsonNode vector) throws Exception {
    JsonNode due = vector.get("delays_us");
    var round = Rounds.retry(due.size() + 1, vector.get("backoff").toString(), "'none'");
    List<Long> waited = waited((Retry) Rounds.valid(round, new FailsafeAdapter()).strategy());
    assertEquals(due.size(), waited.size());
    for (int i = 0; i < due.size(); i++) {
      assertEquals(due.get(i).asLong(), waited.get(i), 1, vector.get("name") + " " + i);
    }
  }

  /** What the library asks for, in microseconds, of a clock that lets no time pass. */
  private static List<Long> waited(Retry retry) throws Exception {
    List<Long> waited = new ArrayList<>();
    var policy =
        LibraryConfig.retry(RetryPolicy.builder(), retry)
            .onRetryScheduled(event -> waited.add(event.getDelay().toNanos() / 1000))
            .build();
    ScheduledExecutorService thread = Executors.newSingleThreadScheduledExecutor();
    try {
      Scheduler atOnce = (task, delay, unit) -> thread.schedule(task, 0, unit);
      Failsafe.with(policy).with(atOnce).getAsync(() -> Outcome.TIMEOUT).get();
    } finally {
      thread.shutdown();
    }
    return waited;
  }
}
