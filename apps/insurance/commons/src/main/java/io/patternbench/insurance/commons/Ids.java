package io.patternbench.insurance.commons;

import java.nio.charset.StandardCharsets;
import java.util.UUID;

/** Where ids of new things come from. */
@FunctionalInterface
public interface Ids {
  String next();

  static Ids random() {
    return () -> UUID.randomUUID().toString();
  }

  /**
   * The id of what {@code owner} creates under an idempotency key: the same each time it is asked.
   *
   * <p>A caller who does not know whether a request was carried out sends it again with its key.
   */
  static String repeatable(String owner, String key) {
    return UUID.nameUUIDFromBytes((owner + "\n" + key).getBytes(StandardCharsets.UTF_8)).toString();
  }
}
