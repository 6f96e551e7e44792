package io.patternbench.cinema.commons;

import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.UUID;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** A cinema with its movies; its id follows from its name. */
public record Cinema(UUID id, String cinemaName, List<Movie> movies) {
  private static final Pattern SERVICE = Pattern.compile(service("(.+)"));

  public static Cinema of(String name, List<Movie> movies) {
    return new Cinema(UUID.nameUUIDFromBytes(name.getBytes(StandardCharsets.UTF_8)), name, movies);
  }

  /** The name under which a cinema's service is registered, and its queue is called. */
  public static String service(String name) {
    return "cinema-" + name + "-service";
  }

  /** The names of the cinemas among registered services, in alphabetical order. */
  public static Stream<String> names(List<String> services) {
    return services.stream()
        .map(SERVICE::matcher)
        .filter(Matcher::matches)
        .map(service -> service.group(1))
        .sorted();
  }
}
