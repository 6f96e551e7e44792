package io.patternbench.resilience4j;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.MissingNode;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Predicate;

/**
 * The fields of one JSON object, read by name; every problem is noted and reading goes on.
 *
 * <p>What a reader returns after a problem is a placeholder that nobody may use.
 */
final class Fields {
  private final String path;
  private final JsonNode node;
  private final List<Problem> problems;
  private final Set<String> known = new LinkedHashSet<>();

  Fields(String path, JsonNode node, List<Problem> problems) {
    this.path = path;
    this.node = node;
    this.problems = problems;
    if (!node.isObject() && !node.isMissingNode()) {
      problems.add(new Problem(path, node, "is not an object", "a JSON object"));
    }
  }

  long integer(String name, long minimum, long maximum) {
    String allowed = "a whole number from " + minimum + range(maximum);
    JsonNode value = checked(name, n -> isInteger(n, minimum, maximum), allowed);
    return value.isMissingNode() ? minimum : value.asLong();
  }

  Long integerOrNull(String name, long minimum, long maximum) {
    String allowed = "null, or a whole number from " + minimum + range(maximum);
    JsonNode value = checked(name, n -> n.isNull() || isInteger(n, minimum, maximum), allowed);
    return value.isMissingNode() || value.isNull() ? null : value.asLong();
  }

  /** A number above 0 and at most 100. */
  double percentage(String name) {
    return checked(name, n -> isNumber(n, Math.nextUp(0.0), 100), "a number above 0, at most 100")
        .asDouble();
  }

  double numberFrom(String name, double minimum) {
    String allowed = "a number from " + minimum;
    return checked(name, n -> isNumber(n, minimum, Double.MAX_VALUE), allowed).asDouble();
  }

  String text(String name) {
    return checked(name, JsonNode::isTextual, "a string").asText();
  }

  String textOrNull(String name) {
    JsonNode value = checked(name, n -> n.isNull() || n.isTextual(), "null, or a string");
    return value.isTextual() ? value.asText() : null;
  }

  String oneOf(String name, List<String> values) {
    String allowed = "one of " + String.join(", ", values);
    return checked(name, n -> n.isTextual() && values.contains(n.asText()), allowed).asText();
  }

  /** The raw value, which must meet the rule; missing when there was a problem. */
  JsonNode checked(String name, Predicate<JsonNode> rule, String allowed) {
    known.add(name);
    JsonNode value = node.path(name);
    if (node.isMissingNode() || !node.isObject() || (!value.isMissingNode() && rule.test(value))) {
      return value;
    }
    String message = value.isMissingNode() ? "is required" : "is not allowed";
    problems.add(new Problem(at(name), value.isMissingNode() ? null : value, message, allowed));
    return MissingNode.getInstance();
  }

  Fields object(String name) {
    return new Fields(at(name), checked(name, JsonNode::isObject, "a JSON object"), problems);
  }

  /** The name of the one field that is there, of several; null after a problem. */
  String onlyOf(List<String> names) {
    known.addAll(names);
    List<String> there = names.stream().filter(node::has).toList();
    if (there.size() == 1) {
      return there.get(0);
    }
    if (node.isObject()) {
      String allowed = "exactly one of " + String.join(", ", names);
      problems.add(new Problem(path, node, "names " + there.size() + " of its choices", allowed));
    }
    return null;
  }

  /** Refuses every field that nobody has asked for. */
  void refuseUnknown() {
    for (String name : (Iterable<String>) node::fieldNames) {
      if (!known.contains(name)) {
        String allowed = known.isEmpty() ? "no field" : "one of " + String.join(", ", known);
        problems.add(new Problem(at(name), node.get(name), "unknown field", allowed));
      }
    }
  }

  String at(String name) {
    return path.isEmpty() ? name : path + "." + name;
  }

  private static boolean isInteger(JsonNode n, long minimum, long maximum) {
    return n.isNumber()
        && n.canConvertToExactIntegral()
        && n.canConvertToLong()
        && n.asLong() >= minimum
        && n.asLong() <= maximum;
  }

  static boolean isNumber(JsonNode n, double minimum, double maximum) {
    return n.isNumber() && n.asDouble() >= minimum && n.asDouble() <= maximum;
  }

  private static String range(long maximum) {
    return maximum == Long.MAX_VALUE ? "" : " to " + maximum;
  }
}
