package io.patternbench.resilience4j;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import io.patternbench.kit.Round.Exponential;
import io.patternbench.kit.Round.Fixed;
import io.patternbench.kit.Round.Jitter;
import io.patternbench.kit.Round.Retry;
import io.patternbench.kit.Rounds;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class DelaysTest {
  static Stream<JsonNode> vectors() {
    return StreamSupport.stream(Rounds.vectors("backoff").spliterator(), false);
  }

  @ParameterizedTest
  @MethodSource("vectors")
  void delaysAreThoseOfTheSharedVectorsToTheMillisecond(JsonNode vector) {
    var round = Rounds.retry(6, vector.get("backoff").toString(), "'none'");
    Retry retry = (Retry) Rounds.valid(round, new Resilience4jAdapter()).strategy();
    var delays = Delays.of(retry.backoff(), retry.jitter());
    int attempt = 0;
    for (JsonNode due : vector.get("delays_us")) {
      long early = due.asLong() - delays.apply(++attempt) * 1000;
      assertTrue(early >= 0 && early < 1000, vector.get("name") + " " + attempt + ": " + early);
    }
  }

  @Test
  void jitterStaysWithinItsShareAndTheMillisecondThatTheLibraryAdds() {
    var delays = Delays.of(new Fixed(40_000), new Jitter("share", 0.5));
    var drawn = LongStream.generate(() -> delays.apply(1)).limit(10_000).summaryStatistics();
    assertTrue(drawn.getMin() >= 20 && drawn.getMax() <= 60, drawn.toString());
    assertTrue(drawn.getMin() < 25 && drawn.getMax() > 55, "the delays are spread: " + drawn);
  }

  @Test
  void noDelayStaysNoneWhateverItsJitterAndGrowth() {
    assertEquals(0, Delays.of(new Fixed(0), new Jitter("share", 1)).apply(1));
    assertEquals(0, Delays.of(new Exponential(0, 1e300, null), Jitter.NONE).apply(9));
  }

  @Test
  void aDelayThatOverflowsIsTheLongestThereIs() {
    assertEquals(
        Long.MAX_VALUE, Delays.of(new Exponential(1000, 1e300, null), Jitter.NONE).apply(9));
  }
}
