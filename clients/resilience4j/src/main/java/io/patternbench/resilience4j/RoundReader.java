package io.patternbench.resilience4j;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.json.JsonMapper;
import io.patternbench.resilience4j.Round.Backoff;
import io.patternbench.resilience4j.Round.Baseline;
import io.patternbench.resilience4j.Round.Breaking;
import io.patternbench.resilience4j.Round.Exponential;
import io.patternbench.resilience4j.Round.Fixed;
import io.patternbench.resilience4j.Round.Jitter;
import io.patternbench.resilience4j.Round.LastCalls;
import io.patternbench.resilience4j.Round.LastTime;
import io.patternbench.resilience4j.Round.Linear;
import io.patternbench.resilience4j.Round.Request;
import io.patternbench.resilience4j.Round.Retrying;
import io.patternbench.resilience4j.Round.SlowCall;
import io.patternbench.resilience4j.Round.Strategy;
import io.patternbench.resilience4j.Round.Window;
import java.io.IOException;
import java.net.URI;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Turns the body of a request into a valid round, or into the list of all that is wrong. */
final class RoundReader {
  private static final ObjectMapper JSON =
      JsonMapper.builder()
          .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
          .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
          .enable(DeserializationFeature.FAIL_ON_READING_DUP_TREE_KEY)
          .build();
  private static final List<String> METHODS =
      List.of("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS");

  /**
   * What was read.
   *
   * @param round null when there are problems
   */
  record Read(Round round, List<Problem> problems) {}

  private final List<Problem> problems = new ArrayList<>();

  private RoundReader() {}

  static Read read(byte[] body) throws IOException {
    try {
      return new RoundReader().readTree(JSON.readTree(body));
    } catch (JsonProcessingException e) {
      String message = "is not JSON: " + e.getOriginalMessage();
      return new Read(null, List.of(new Problem("", null, message, "one JSON object")));
    }
  }

  private Read readTree(JsonNode tree) {
    Fields fields = new Fields("", tree.isMissingNode() ? JSON.nullNode() : tree, problems);
    Round round = round(fields);
    if (problems.isEmpty()) {
      problems.addAll(Expressible.problems(round));
    }
    return new Read(problems.isEmpty() ? round : null, problems);
  }

  private Round round(Fields f) {
    f.integer("contract", 1, 1);
    URI target = target(f);
    Request request = request(f.object("request"));
    int users = Math.toIntExact(f.integer("users", 1, Integer.MAX_VALUE));
    long thinkTime = f.integer("think_time_us", 0, Long.MAX_VALUE);
    Long successes = f.integerOrNull("successes", 1, Long.MAX_VALUE);
    Long maxAttempts = f.integerOrNull("max_attempts", 1, Long.MAX_VALUE);
    long rejectedPause = f.integer("rejected_pause_us", 1, Long.MAX_VALUE);
    long timeLimit = f.integer("time_limit_us", 1, Long.MAX_VALUE);
    // Resilience4j draws its jitter from a random source of its own, which cannot be seeded.
    f.integer("seed", 0, Long.MAX_VALUE);
    Strategy strategy = strategy(f.object("strategy"));
    f.refuseUnknown();
    return new Round(
        target,
        request,
        users,
        thinkTime,
        successes,
        maxAttempts,
        rejectedPause,
        timeLimit,
        strategy);
  }

  private static URI target(Fields f) {
    String allowed = "scheme, host and port, as http://127.0.0.1:8080";
    JsonNode node = f.checked("target", n -> n.isTextual() && isTarget(n.asText()), allowed);
    return node.isMissingNode() ? null : URI.create(node.asText());
  }

  private static boolean isTarget(String text) {
    try {
      URI uri = new URI(text);
      return List.of("http", "https").contains(String.valueOf(uri.getScheme()))
          && uri.getHost() != null
          && List.of("", "/").contains(uri.getRawPath())
          && uri.getRawQuery() == null
          && uri.getRawFragment() == null
          && uri.getRawUserInfo() == null;
    } catch (java.net.URISyntaxException e) {
      return false;
    }
  }

  private static Request request(Fields f) {
    String method = f.oneOf("method", METHODS);
    String path =
        f.checked("path", n -> n.isTextual() && isPath(n.asText()), "a path that begins with /")
            .asText();
    Map<String, String> headers = headers(f);
    String body = f.textOrNull("body");
    long timeout = f.integer("timeout_us", 1, Long.MAX_VALUE);
    f.refuseUnknown();
    return new Request(method, path, headers, body, timeout);
  }

  private static boolean isPath(String text) {
    try {
      return text.startsWith("/") && new URI("http://host" + text).getRawFragment() == null;
    } catch (java.net.URISyntaxException e) {
      return false;
    }
  }

  private static Map<String, String> headers(Fields f) {
    JsonNode node = f.checked("headers", RoundReader::areTexts, "an object of strings");
    Map<String, String> headers = new LinkedHashMap<>();
    node.fields().forEachRemaining(e -> headers.put(e.getKey(), e.getValue().asText()));
    return headers;
  }

  private static boolean areTexts(JsonNode node) {
    if (!node.isObject()) {
      return false;
    }
    for (JsonNode value : node) {
      if (!value.isTextual()) {
        return false;
      }
    }
    return true;
  }

  private static Strategy strategy(Fields f) {
    String name = f.onlyOf(List.of("baseline", "retry", "circuit_breaker"));
    f.refuseUnknown();
    if (name == null) {
      return new Baseline();
    }
    return switch (name) {
      case "retry" -> retry(f.object(name));
      case "circuit_breaker" -> breaker(f.object(name));
      default -> baseline(f.object(name));
    };
  }

  private static Strategy baseline(Fields f) {
    f.refuseUnknown();
    return new Baseline();
  }

  private static Strategy retry(Fields f) {
    int maxAttempts = (int) f.integer("max_attempts", 1, Integer.MAX_VALUE);
    Backoff backoff = backoff(f.object("backoff"));
    Jitter jitter = jitter(f);
    f.refuseUnknown();
    return new Retrying(maxAttempts, backoff, jitter);
  }

  private static Backoff backoff(Fields f) {
    String name = f.onlyOf(List.of("fixed", "linear", "exponential"));
    f.refuseUnknown();
    if (name == null) {
      return new Fixed(0);
    }
    Fields of = f.object(name);
    Backoff backoff =
        switch (name) {
          case "linear" -> linear(of);
          case "exponential" -> exponential(of);
          default -> new Fixed(of.integer("delay_us", 0, Long.MAX_VALUE));
        };
    of.refuseUnknown();
    return backoff;
  }

  private static Backoff linear(Fields f) {
    return new Linear(
        f.integer("initial_us", 0, Long.MAX_VALUE),
        f.integer("increment_us", 0, Long.MAX_VALUE),
        f.integerOrNull("max_us", 1, Long.MAX_VALUE));
  }

  private static Backoff exponential(Fields f) {
    return new Exponential(
        f.integer("initial_us", 0, Long.MAX_VALUE),
        f.numberFrom("multiplier", 1),
        f.integerOrNull("max_us", 1, Long.MAX_VALUE));
  }

  private static Jitter jitter(Fields f) {
    JsonNode node =
        f.checked(
            "jitter",
            n ->
                Fields.isNumber(n, Math.nextUp(0.0), 1)
                    || List.of("none", "full", "equal").contains(n.asText()),
            "none, full, equal, or a number above 0, at most 1");
    return node.isNumber()
        ? new Jitter("share", node.asDouble())
        : new Jitter(node.asText("none"), 0);
  }

  private static Strategy breaker(Fields f) {
    double failureRate = f.percentage("failure_rate");
    SlowCall slowCall = slowCall(f);
    Window window = window(f.object("window"));
    int minimumCalls = (int) f.integer("minimum_calls", 1, Integer.MAX_VALUE);
    long openFor = f.integer("open_for_us", 1, Long.MAX_VALUE);
    int halfOpenCalls = (int) f.integer("half_open_calls", 1, Integer.MAX_VALUE);
    boolean shared = f.oneOf("scope", List.of("user", "client")).equals("client");
    f.refuseUnknown();
    return new Breaking(
        failureRate, slowCall, window, minimumCalls, openFor, halfOpenCalls, shared);
  }

  private static SlowCall slowCall(Fields f) {
    JsonNode node =
        f.checked("slow_call", n -> n.isNull() || n.isObject(), "null, or a JSON object");
    if (!node.isObject()) {
      return null;
    }
    Fields of = f.object("slow_call");
    SlowCall slowCall =
        new SlowCall(of.percentage("rate"), of.integer("duration_us", 1, Long.MAX_VALUE));
    of.refuseUnknown();
    return slowCall;
  }

  private static Window window(Fields f) {
    String name = f.onlyOf(List.of("calls", "time_us"));
    f.refuseUnknown();
    if (name == null) {
      return new LastCalls(1);
    }
    return name.equals("calls")
        ? new LastCalls((int) f.integer(name, 1, Integer.MAX_VALUE))
        : new LastTime(f.integer(name, 1, Long.MAX_VALUE));
  }
}
