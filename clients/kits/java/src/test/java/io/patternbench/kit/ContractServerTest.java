package io.patternbench.kit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Exact counts of calls, attempts and rejections, over real sockets. */
class ContractServerTest {
  private static final String TEN_MS = "{'fixed':{'delay_us':10000}}";

  private ContractServer server;

  @BeforeEach
  void start() throws IOException {
    server = ContractServer.start(0, new PlainAdapter());
  }

  @AfterEach
  void stop() {
    server.stop();
  }

  @Test
  void aRetryMakesExactlyTheAttemptsOfItsScript() throws Exception {
    try (ScriptedServer target = ScriptedServer.of(503, 404, 200, 503, 503, 503, 200)) {
      ObjectNode round = Rounds.retry(3, TEN_MS, "'none'").put("successes", 2);
      List<String> rows = rows(run(round, target));
      assertEquals(
          List.of("0.1 503", "0.2 404", "0.3 200", "1.1 503", "1.2 503", "1.3 503", "2.1 200"),
          rows);
      assertEquals(7, target.requests());
    }
  }

  @Test
  void aBaselineNeverTriesAgainByItself() throws Exception {
    try (ScriptedServer target = ScriptedServer.of(200, 0, 503, 302)) {
      ObjectNode round = Rounds.round("{'baseline':{}}").put("successes", 2);
      assertEquals(
          List.of("0.1 200", "1.1 connection_error", "2.1 503", "3.1 302"),
          rows(run(round, target)));
      assertEquals(4, target.requests());
    }
  }

  @Test
  void timeoutsOneAfterAnotherAreTimeoutsAndNothingElse() throws Exception {
    // Nobody accepts: the connection waits in the backlog, and no answer ever comes.
    try (ServerSocket silent = new ServerSocket(0, 500, InetAddress.getByName("127.0.0.1"))) {
      ObjectNode round = Rounds.round("{'baseline':{}}").put("users", 4);
      round.put("max_attempts", 100);
      ((ObjectNode) round.get("request")).put("timeout_us", 1_000);
      round.put("target", "http://127.0.0.1:" + silent.getLocalPort());
      List<String> rows = rows(run(round));
      assertEquals(400, rows.size());
      assertTrue(rows.stream().allMatch(row -> row.endsWith(" timeout")), rows.toString());
    }
  }

  @Test
  void aRejectedCallCostsNoAttemptAndIsFollowedByItsPause() throws Exception {
    try (ScriptedServer target = ScriptedServer.of(503)) {
      ObjectNode round = Rounds.breaker().put("rejected_pause_us", 20_000);
      round.put("time_limit_us", 1_000_000).putNull("successes");
      List<String> rows = rows(run(round, target));
      assertEquals(List.of("0.1 503", "1.1 503", "2.0 rejected"), rows.subList(0, 3));
      assertTrue(rows.size() >= 4 && rows.size() <= 52, rows.size() + " rows in 1 s");
      assertEquals(2, target.requests());
    }
  }

  @Test
  void aRejectedCallTakesNoTimeAndStandsWhereItCame() throws Exception {
    try (ScriptedServer target = ScriptedServer.of(503)) {
      ObjectNode round = Rounds.breaker().put("time_limit_us", 300_000).putNull("successes");
      JsonNode batch = run(round, target)[0].path("batch");
      assertEquals("rejected", text(batch, 2));
      assertEquals(0, batch.at("/duration_us/2").asLong());
      long before = batch.at("/start_us/1").asLong() + batch.at("/duration_us/1").asLong();
      assertTrue(batch.at("/start_us/2").asLong() >= before, batch.path("start_us").toString());
    }
  }

  @Test
  void aPolicyOfScopeClientIsOneForAllUsersAndOfScopeUserOneForEachNewInEveryRound()
      throws Exception {
    assertEquals(8, attempts("user"));
    assertEquals(2, attempts("client"));
    assertEquals(2, attempts("client"));
  }

  @Test
  void aCallThatWasRejectedAfterAnAttemptEndsWithThatAttempt() throws Exception {
    String breaker = Rounds.breaker().at("/strategy").toString().replace('"', '\'');
    String retry = Rounds.retry(3, TEN_MS, "'none'").at("/strategy").toString().replace('"', '\'');
    try (ScriptedServer target = ScriptedServer.of(503)) {
      ObjectNode round = Rounds.round("{'stack':[" + retry + "," + breaker + "]}");
      List<String> rows = rows(run(round.put("time_limit_us", 500_000), target));
      assertEquals(List.of("0.1 503", "0.2 503", "1.0 rejected"), rows.subList(0, 3));
      assertEquals(2, target.requests());
    }
  }

  @Test
  void aRoundThatIsNotUnderstoodIsAnsweredWith422() throws Exception {
    HttpResponse<String> answer = post("/rounds", "{\"users\": 1}");
    assertEquals(422, answer.statusCode());
    assertEquals(1, Rounds.JSON.readTree(answer.body()).get("problems").size());
  }

  @Test
  void anUnknownPathSaysWhatThereIs() throws Exception {
    HttpResponse<String> answer = post("/round", "");
    assertEquals(404, answer.statusCode());
    assertTrue(answer.body().contains("GET /client, POST /check, POST /rounds"));
  }

  private int attempts(String scope) throws Exception {
    try (ScriptedServer target = ScriptedServer.of(503)) {
      ObjectNode round = Rounds.breaker().put("users", 4).put("time_limit_us", 400_000);
      round.putNull("successes");
      ((ObjectNode) round.at("/strategy/circuit_breaker")).put("scope", scope);
      run(round, target);
      return target.requests();
    }
  }

  private JsonNode[] run(ObjectNode round, ScriptedServer target) throws Exception {
    return run(round.put("target", target.url()));
  }

  private JsonNode[] run(ObjectNode round) throws Exception {
    HttpResponse<String> answer = post("/rounds", round.toString());
    assertEquals(200, answer.statusCode(), answer.body());
    List<JsonNode> lines = new ArrayList<>();
    for (String line : answer.body().split("\n")) {
      lines.add(Rounds.JSON.readTree(line));
    }
    return lines.toArray(JsonNode[]::new);
  }

  private HttpResponse<String> post(String path, String body) throws Exception {
    URI uri = URI.create("http://127.0.0.1:" + server.port() + path);
    HttpRequest request =
        HttpRequest.newBuilder(uri).POST(HttpRequest.BodyPublishers.ofString(body)).build();
    return HttpClient.newHttpClient().send(request, BodyHandlers.ofString());
  }

  /** Each row of a stream as "call.attempt outcome". */
  private static List<String> rows(JsonNode[] lines) {
    List<String> rows = new ArrayList<>();
    for (JsonNode line : lines) {
      JsonNode batch = line.path("batch");
      for (int i = 0; i < batch.path("user").size(); i++) {
        rows.add(
            "%s.%s %s"
                .formatted(batch.at("/call/" + i), batch.at("/attempt/" + i), text(batch, i)));
      }
    }
    return rows;
  }

  private static String text(JsonNode batch, int row) {
    return batch.at("/outcome/" + row).asText();
  }
}
