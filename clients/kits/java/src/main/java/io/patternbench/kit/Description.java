package io.patternbench.kit;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;

/**
 * Who a client is.
 *
 * @param name of the client, as its folder
 * @param library the library's own name
 * @param version of the client, and {@code libraryVersion} of its library
 */
public record Description(
    String name, String library, String version, String libraryVersion, List<String> strategies) {

  /** Reads the versions from {@code client.properties}, which Maven fills in. */
  public static Description of(String name, String library, String... strategies) {
    Properties build = new Properties();
    try (InputStream in = Description.class.getResourceAsStream("/client.properties")) {
      build.load(in);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    String version = build.getProperty("version");
    return new Description(
        name, library, version, build.getProperty("library"), List.of(strategies));
  }

  Map<String, Object> asJson() {
    Map<String, Object> json = new LinkedHashMap<>();
    json.put("contract", Round.CONTRACT);
    json.put("name", name);
    json.put("version", version);
    json.put("language", "Java " + System.getProperty("java.version"));
    json.put("library", Map.of("name", library, "version", libraryVersion));
    json.put("strategies", strategies);
    return json;
  }
}
