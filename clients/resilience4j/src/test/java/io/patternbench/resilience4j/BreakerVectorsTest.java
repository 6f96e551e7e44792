package io.patternbench.resilience4j;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.github.resilience4j.circuitbreaker.CircuitBreaker;
import io.github.resilience4j.circuitbreaker.CircuitBreakerConfig;
import io.patternbench.kit.Round;
import io.patternbench.kit.Rounds;
import java.time.Clock;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The library's breaker, configured by us, decides as the shared vectors say. */
class BreakerVectorsTest {
  static Stream<JsonNode> vectors() {
    return StreamSupport.stream(Rounds.vectors("breaker").spliterator(), false);
  }

  @ParameterizedTest
  @MethodSource("vectors")
  void callsAreAdmittedAndRejectedAsTheVectorSays(JsonNode vector) {
    SetClock clock = new SetClock();
    CircuitBreaker breaker = CircuitBreaker.of("vector", config(vector, clock));
    int number = 0;
    for (JsonNode step : vector.get("steps")) {
      clock.nowUs = step.get("at_us").asLong();
      boolean admitted = breaker.tryAcquirePermission();
      assertEquals(
          step.get("admitted").asBoolean(), admitted, vector.get("name") + ", step " + number++);
      if (admitted) {
        record(breaker, clock, step);
      }
    }
  }

  private static void record(CircuitBreaker breaker, SetClock clock, JsonNode step) {
    long durationUs = step.get("duration_us").asLong();
    clock.nowUs += durationUs;
    int outcome = step.get("success").asBoolean() ? 200 : 503;
    breaker.onResult(durationUs, TimeUnit.MICROSECONDS, outcome);
  }

  private static CircuitBreakerConfig config(JsonNode vector, Clock clock) {
    ObjectNode round = Rounds.breaker();
    ((ObjectNode) round.get("strategy")).set("circuit_breaker", vector.get("circuit_breaker"));
    var policy = (Round.CircuitBreaker) Rounds.valid(round, new Resilience4jAdapter()).strategy();
    return LibraryConfig.breaker(new CircuitBreakerConfig.Builder(), policy, clock).build();
  }
}
