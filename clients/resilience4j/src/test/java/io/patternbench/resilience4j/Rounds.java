package io.patternbench.resilience4j;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;

/** Rounds as JSON, and the contract's shared vectors. */
final class Rounds {
  static final ObjectMapper JSON = new ObjectMapper();
  private static final Path VECTORS = Path.of("..", "..", "contracts", "client", "vectors");

  private Rounds() {}

  /** JSON with single quotes for double ones. */
  static ObjectNode json(String text) {
    try {
      return (ObjectNode) JSON.readTree(text.replace('\'', '"'));
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  static ObjectNode round(String strategy) {
    ObjectNode round =
        json(
            "{'contract':1,'target':'http://127.0.0.1:1','request':{'method':'GET','path':'/x',"
                + "'headers':{},'body':null,'timeout_us':1000000},'users':1,'think_time_us':0,"
                + "'successes':1,'max_attempts':null,'rejected_pause_us':1000,"
                + "'time_limit_us':10000000,'seed':1}");
    round.set("strategy", json(strategy));
    return round;
  }

  static ObjectNode retry(int attempts, String backoff, String jitter) {
    return round(
        "{'retry':{'max_attempts':%d,'backoff':%s,'jitter':%s}}"
            .formatted(attempts, backoff, jitter));
  }

  static ObjectNode breaker() {
    return round(
        "{'circuit_breaker':{'failure_rate':100,'slow_call':null,'window':{'calls':2},"
            + "'minimum_calls':2,'open_for_us':20000,'half_open_calls':1,'scope':'client'}}");
  }

  static RoundReader.Read read(JsonNode round) {
    try {
      return RoundReader.read(round.toString().getBytes(StandardCharsets.UTF_8));
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  /** The round, which must be one that this client can run. */
  static Round valid(JsonNode round) {
    RoundReader.Read read = read(round);
    if (read.round() == null) {
      throw new AssertionError(read.problems());
    }
    return read.round();
  }

  static Iterable<JsonNode> vectors(String name) {
    try {
      return JSON.readTree(VECTORS.resolve(name + ".json").toFile()).get("cases");
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }
}
