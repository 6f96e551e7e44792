package io.patternbench.kit;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Rounds as JSON, and the contract's shared vectors; for the tests of every adapter. */
public final class Rounds {
  static final ObjectMapper JSON = new ObjectMapper();

  private static final int COLUMNS = 6;

  private Rounds() {}

  /** JSON with single quotes for double ones. */
  public static ObjectNode json(String text) {
    try {
      return (ObjectNode) JSON.readTree(text.replace('\'', '"'));
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  /** A round of one user with a strategy. */
  public static ObjectNode round(String strategy) {
    ObjectNode round =
        json(
            "{'contract':1,'target':'http://127.0.0.1:1','request':{'method':'GET','path':'/x',"
                + "'headers':{},'body':null,'timeout_us':1000000},'users':1,'think_time_us':0,"
                + "'successes':1,'max_attempts':null,'rejected_pause_us':1000,"
                + "'time_limit_us':10000000,'seed':1}");
    round.set("strategy", json(strategy));
    return round;
  }

  /** A round with a retry. */
  public static ObjectNode retry(int attempts, String backoff, String jitter) {
    return round(
        "{'retry':{'max_attempts':%d,'backoff':%s,'jitter':%s}}"
            .formatted(attempts, backoff, jitter));
  }

  /**
   * A round with policies around each other, the outermost first, each as JSON with single quotes.
   */
  public static ObjectNode stack(String... policies) {
    return round("{'stack':[" + String.join(",", policies) + "]}");
  }

  /** The strategy of a round, to stand in a stack. */
  public static String policy(ObjectNode round) {
    return round.get("strategy").toString().replace('"', '\'');
  }

  /** A time-out, to stand in a stack. */
  public static String timeout(long afterUs) {
    return "{'timeout':{'after_us':" + afterUs + "}}";
  }

  /** A round with a circuit breaker that two failures in a row open. */
  public static ObjectNode breaker() {
    return round(
        "{'circuit_breaker':{'failure_rate':100,'slow_call':null,'window':{'calls':2},"
            + "'minimum_calls':2,'open_for_us':20000,'half_open_calls':1,'scope':'client'}}");
  }

  /** The same round with one field of its circuit breaker changed. */
  public static ObjectNode breaker(String field, String json) {
    ObjectNode round = breaker();
    ((ObjectNode) round.at("/strategy/circuit_breaker"))
        .setAll(json("{'" + field + "':" + json + "}"));
    return round;
  }

  /** Where the problems of a round are that a client has with it. */
  public static List<String> refused(JsonNode round, Adapter adapter) {
    return read(round, adapter).problems().stream().map(Problem::path).toList();
  }

  /** The round, which must be one that the client can run. */
  public static Round valid(JsonNode round, Adapter adapter) {
    RoundReader.Read read = read(round, adapter);
    if (read.round() == null) {
      throw new AssertionError(read.problems());
    }
    return read.round();
  }

  static RoundReader.Read read(JsonNode round, Adapter adapter) {
    try {
      return RoundReader.read(round.toString().getBytes(StandardCharsets.UTF_8), adapter);
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  /**
   * The rows that a round leaves, each as {@code call.attempt outcome}; only a policy ends its
   * attempts early.
   *
   * @param statuses of the answers of its target, the last one for ever; -1 never answers
   */
  public static List<String> rows(ObjectNode round, Adapter adapter, int... statuses)
      throws IOException, InterruptedException {
    // In a JVM that has sent no request yet the first one takes longer than a time-out allows.
    run(round("{'baseline':{}}"), adapter, 200);
    ((ObjectNode) round.get("request")).put("timeout_us", 10_000_000);
    return rows(run(round, adapter, statuses));
  }

  private static long[] run(ObjectNode round, Adapter adapter, int... statuses)
      throws IOException, InterruptedException {
    try (ScriptedServer target = ScriptedServer.of(statuses)) {
      Round valid = valid(round.put("target", target.url()), adapter);
      try (RunningRound running = new RunningRound(valid, adapter)) {
        running.start();
        if (!running.awaitEnd(30_000)) {
          throw new AssertionError("the round does not end");
        }
        return running.rows().take();
      }
    }
  }

  private static List<String> rows(long[] cells) {
    List<String> rows = new ArrayList<>();
    for (int i = 0; i < cells.length; i += COLUMNS) {
      String outcome = Outcome.json((int) cells[i + 5]).replace("\"", "");
      rows.add(cells[i + 1] + "." + cells[i + 2] + " " + outcome);
    }
    return rows;
  }

  /** The cases of a file of {@code contracts/client/vectors}. */
  public static Iterable<JsonNode> vectors(String name) {
    try {
      return JSON.readTree(repository().resolve(VECTORS + name + ".json").toFile()).get("cases");
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  private static final String VECTORS = "contracts/client/vectors/";

  private static Path repository() {
    Path folder = Path.of("").toAbsolutePath();
    while (!Files.isDirectory(folder.resolve(VECTORS))) {
      folder = folder.getParent();
    }
    return folder;
  }
}
