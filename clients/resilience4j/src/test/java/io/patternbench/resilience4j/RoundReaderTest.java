package io.patternbench.resilience4j;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class RoundReaderTest {
  private static final String FIXED = "{'fixed':{'delay_us':1000}}";

  @Test
  void aValidRoundIsRead() {
    Round round = Rounds.valid(Rounds.breaker());
    assertEquals(1, round.users());
    assertEquals(
        new Round.Breaking(100, null, new Round.LastCalls(2), 2, 20_000, 1, true),
        round.strategy());
  }

  @Test
  void allProblemsAreListedAtOnce() {
    ObjectNode round = Rounds.breaker();
    round.put("usres", 3).put("think_time_us", -1).remove("seed");
    assertEquals(List.of("think_time_us", "seed", "usres"), paths(round));
  }

  @Test
  void aMisspeltParameterIsRefusedAndTheKnownOnesAreNamed() {
    ObjectNode round = Rounds.retry(3, FIXED, "'none'");
    ObjectNode retry = (ObjectNode) round.at("/strategy/retry");
    retry.set("max_attemps", retry.remove("max_attempts"));
    List<Problem> problems = Rounds.read(round).problems();
    assertEquals("strategy.retry.max_attempts", problems.get(0).path());
    assertEquals("is required", problems.get(0).message());
    assertEquals("strategy.retry.max_attemps", problems.get(1).path());
    assertEquals("one of max_attempts, backoff, jitter", problems.get(1).allowed());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "full jitter | {'retry':{'max_attempts':3,'backoff':{'fixed':{'delay_us':1000}},'jitter':'full'}} | strategy.retry.jitter",
        "equal jitter | {'retry':{'max_attempts':3,'backoff':{'fixed':{'delay_us':1000}},'jitter':'equal'}} | strategy.retry.jitter",
        "half a millisecond | {'retry':{'max_attempts':3,'backoff':{'fixed':{'delay_us':500}},'jitter':'none'}} | strategy.retry.backoff.fixed.delay_us",
        "half a millisecond more | {'retry':{'max_attempts':3,'backoff':{'linear':{'initial_us':0,'increment_us':500,'max_us':null}},'jitter':'none'}} | strategy.retry.backoff.linear.increment_us",
        "a cap of microseconds | {'retry':{'max_attempts':3,'backoff':{'exponential':{'initial_us':1000,'multiplier':2,'max_us':2500}},'jitter':'none'}} | strategy.retry.backoff.exponential.max_us",
      })
  void whatRetryCannotExpressIsRefusedByName(String what, String strategy, String path) {
    assertEquals(List.of(path), paths(Rounds.round(strategy)), what);
  }

  @ParameterizedTest
  @CsvSource({
    "minimum_calls, 3, minimum_calls",
    "half_open_calls, 3, half_open_calls",
    "open_for_us, 1500, open_for_us",
    "failure_rate, 1e-60, failure_rate",
    "failure_rate, 101, failure_rate",
  })
  void whatTheBreakerCannotExpressIsRefusedByName(String field, double value, String path) {
    ObjectNode round = Rounds.breaker();
    ((ObjectNode) round.at("/strategy/circuit_breaker")).put(field, value);
    assertEquals(List.of("strategy.circuit_breaker." + path), paths(round));
  }

  @ParameterizedTest
  @CsvSource({"500000", "1500000", "999999"})
  void aTimeWindowOfFractionsOfASecondIsRefused(long timeUs) {
    assertEquals(List.of("strategy.circuit_breaker.window.time_us"), paths(timeWindow(timeUs)));
  }

  @Test
  void aTimeWindowIsSecondsInTheLibraryAndMicrosecondsInTheContract() {
    Round round = Rounds.valid(timeWindow(30_000_000));
    var config =
        LibraryConfig.breaker(
                new io.github.resilience4j.circuitbreaker.CircuitBreakerConfig.Builder(),
                (Round.Breaking) round.strategy(),
                new MonotonicClock())
            .build();
    assertEquals(30, config.getSlidingWindowSize());
  }

  @Test
  void headersThatTheClientSetsItselfAreRefused() {
    ObjectNode round = Rounds.breaker();
    ((ObjectNode) round.at("/request/headers")).put("Content-Length", "3").put("X-Fine", "yes");
    assertEquals(List.of("request.headers.Content-Length"), paths(round));
  }

  @Test
  void aDuplicateFieldIsRefused() throws IOException {
    RoundReader.Read read = RoundReader.read("{\"users\": 1, \"users\": 2}".getBytes());
    assertNull(read.round());
    assertEquals("", read.problems().get(0).path());
  }

  @Test
  void everySharedVectorIsExpressible() {
    for (var vector : Rounds.vectors("backoff")) {
      assertNotNull(Rounds.valid(Rounds.retry(6, vector.get("backoff").toString(), "'none'")));
    }
  }

  private static ObjectNode timeWindow(long timeUs) {
    ObjectNode round = Rounds.breaker();
    ((ObjectNode) round.at("/strategy/circuit_breaker"))
        .set("window", Rounds.json("{'time_us':" + timeUs + "}"));
    return round;
  }

  private static List<String> paths(ObjectNode round) {
    return Rounds.read(round).problems().stream().map(Problem::path).toList();
  }
}
