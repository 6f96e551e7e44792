package io.patternbench.kit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.patternbench.kit.Round.Bulkhead;
import io.patternbench.kit.Round.CircuitBreaker;
import io.patternbench.kit.Round.Exponential;
import io.patternbench.kit.Round.Fixed;
import io.patternbench.kit.Round.Jitter;
import io.patternbench.kit.Round.Retry;
import io.patternbench.kit.Round.Window;
import java.io.IOException;
import java.util.List;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

class RoundReaderTest {
  private static final Adapter PLAIN = new PlainAdapter();

  @Test
  void everyFieldOfAStrategyIsRead() {
    assertEquals(
        new CircuitBreaker(100, null, new Window(2, null), 2, 20_000, 1, "client"),
        Rounds.valid(Rounds.breaker(), PLAIN).strategy());
    assertEquals(
        new Retry(3, new Exponential(1, 1.5, null), new Jitter("share", 0.5), null, null),
        Rounds.valid(
                Rounds.retry(
                    3, "{'exponential':{'initial_us':1,'multiplier':1.5,'max_us':null}}", "0.5"),
                PLAIN)
            .strategy());
    assertEquals(
        List.of(), Rounds.valid(Rounds.round("{'baseline':{}}"), PLAIN).strategy().policies());
  }

  @Test
  void aStackIsReadInItsOrder() {
    String stack =
        "{'stack':[{'bulkhead':{'max_concurrent':2,'max_waiting':0,'scope':'user'}},{'retry':"
            + "{'max_attempts':2,'backoff':{'fixed':{'delay_us':0}},'jitter':'none',"
            + "'on':[503,'timeout'],'retry_after_max_us':0}}]}";
    assertEquals(
        List.of(
            new Bulkhead(2, 0, null, "user"),
            new Retry(2, new Fixed(0), Jitter.NONE, List.of(503, "timeout"), 0L)),
        Rounds.valid(Rounds.round(stack), PLAIN).strategy().policies());
  }

  @Test
  void aRetryTriesAgainWhatItNames() {
    Retry retry = new Retry(2, new Fixed(0), Jitter.NONE, List.of("500-599", 429, "timeout"), null);
    assertTrue(retry.isRetried(503) && retry.isRetried(429) && retry.isRetried(Outcome.TIMEOUT));
    assertFalse(retry.isRetried(404) || retry.isRetried(Outcome.CONNECTION_ERROR));
    assertFalse(new Retry(2, new Fixed(0), Jitter.NONE, null, null).isRetried(302));
  }

  static Stream<JsonNode> vectors() {
    return StreamSupport.stream(Rounds.vectors("backoff").spliterator(), false);
  }

  @ParameterizedTest
  @MethodSource("vectors")
  void delaysAreThoseOfTheSharedVectors(JsonNode vector) {
    String backoff = vector.get("backoff").toString();
    Retry retry = (Retry) Rounds.valid(Rounds.retry(6, backoff, "'none'"), PLAIN).strategy();
    int attempt = 0;
    for (JsonNode due : vector.get("delays_us")) {
      assertEquals(due.asDouble(), retry.backoff().delayUs(++attempt), 1e-6);
    }
  }

  @Test
  void aPolicyThatTheLibraryLacksIsRefusedWhereItStands() {
    String limit = "{'rate_limit':{'calls':1,'per_us':1,'burst':1,'max_wait_us':0,'scope':'user'}}";
    ObjectNode round = Rounds.round("{'stack':[" + limit + "," + limit + "]}");
    assertEquals(
        List.of("strategy.stack[0].rate_limit", "strategy.stack[1].rate_limit"),
        Rounds.refused(round, PLAIN));
  }

  @Test
  void aStrategyThatTheKitDoesNotKnowIsRefusedByName() {
    ObjectNode round = Rounds.round("{'stack':[{'hedge':{'delay_us':1,'max_attempts':2}}]}");
    RoundReader.Read read = Rounds.read(round, PLAIN);
    assertNull(read.round());
    assertEquals("hedge", read.problems().get(0).value());
  }

  @Test
  void anotherVersionOfTheContractIsRefused() {
    assertEquals(List.of("contract"), Rounds.refused(Rounds.breaker().put("contract", 2), PLAIN));
    assertEquals(
        1, Rounds.refused(Rounds.breaker().put("invented_later", 2), PLAIN).size(), "a new field");
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "{", "null", "[]", "{\"contract\": 1", "{}"})
  void whatIsNoRoundIsAProblemAndNoException(String body) throws IOException {
    RoundReader.Read read = RoundReader.read(body.getBytes(), PLAIN);
    assertNull(read.round());
    assertEquals(1, read.problems().size());
  }

  @Test
  void headersThatTheClientSetsItselfAreRefused() {
    ObjectNode round = Rounds.breaker();
    ((ObjectNode) round.at("/request/headers")).put("Content-Length", "3").put("X-Fine", "yes");
    assertEquals(List.of("request.headers.Content-Length"), Rounds.refused(round, PLAIN));
  }

  @Test
  void aBoundOnWhoWaitsIsRefusedOnlyWhereItCouldBeReached() {
    Bulkhead bulkhead = new Bulkhead(2, 3, null, "client");
    assertEquals(0, boundedWaiting(bulkhead, 5), "of five users at most three wait");
    assertEquals(1, boundedWaiting(bulkhead, 6));
    assertEquals(0, boundedWaiting(new Bulkhead(2, 3, null, "user"), 6));
    assertEquals(0, boundedWaiting(new Bulkhead(2, 0, null, "client"), 6));
  }

  private static int boundedWaiting(Bulkhead bulkhead, int users) {
    Problems problems = new Problems("none");
    problems.boundedWaiting(bulkhead, users);
    return problems.all().size();
  }

  @Test
  void aTimeThatTheLibraryWouldCutIsRefusedWithTheNextThatItCounts() {
    Problems problems = new Problems("Some library");
    problems.milliseconds("a", 1500L);
    problems.milliseconds("b", 2000L);
    problems.milliseconds("c", null);
    problems.retryAfter(new Retry(2, new Fixed(0), Jitter.NONE, null, 1_000L));
    assertEquals(
        List.of("a", "retry_after_max_us"), problems.all().stream().map(Problem::path).toList());
    assertEquals("a multiple of 1000, for instance 2000", problems.all().get(0).allowed());
  }
}
