package io.patternbench.cinema.commons;

import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.UUID;

/** A cinema with its movies; its id follows from its name. */
public record Cinema(UUID id, String cinemaName, List<Movie> movies) {
  public static Cinema of(String name, List<Movie> movies) {
    return new Cinema(UUID.nameUUIDFromBytes(name.getBytes(StandardCharsets.UTF_8)), name, movies);
  }

  /** The name under which a cinema's service is registered, and its queue is called. */
  public static String service(String name) {
    return "cinema-" + name + "-service";
  }
}
