package io.patternbench.resilience4j;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;

/** What this client says of itself. */
final class Description {
  private static final Properties BUILD = build();
  static final String VERSION = BUILD.getProperty("version");

  private Description() {}

  static Map<String, Object> asJson() {
    Map<String, Object> json = new LinkedHashMap<>();
    json.put("contract", 1);
    json.put("name", "resilience4j");
    json.put("version", VERSION);
    json.put("language", "Java " + System.getProperty("java.version"));
    json.put("library", Map.of("name", "Resilience4j", "version", BUILD.getProperty("library")));
    json.put("strategies", List.of("baseline", "retry", "circuit_breaker"));
    return json;
  }

  private static Properties build() {
    Properties properties = new Properties();
    try (InputStream in = Description.class.getResourceAsStream("/client.properties")) {
      properties.load(in);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return properties;
  }
}
