package io.patternbench.cinema.cinema.http;

import com.fasterxml.jackson.annotation.JsonInclude;
import io.patternbench.cinema.commons.Cinema;
import io.patternbench.cinema.commons.Movie;
import java.util.List;
import java.util.UUID;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.annotation.WriteOperation;
import org.springframework.context.annotation.Profile;
import org.springframework.lang.Nullable;
import org.springframework.stereotype.Component;

/**
 * Which version of its lists this cinema writes; read and changed at {@code /actuator/movies},
 * while it runs.
 *
 * <p>A new version calls the name of a movie its title. Callers of the published version know it by
 * its name alone.
 */
@Component
@Profile("by-http")
@Endpoint(id = "movies")
class MovieFields {
  /** The published version; one that its callers can't read; one that both kinds can read. */
  enum Fields {
    NAME,
    TITLE,
    BOTH
  }

  record Level(Fields fields) {}

  record Answer(UUID id, String cinemaName, List<Entry> movies) {}

  @JsonInclude(JsonInclude.Include.NON_NULL)
  record Entry(String id, @Nullable String name, @Nullable String title, List<String> showTimes) {}

  private volatile Level level = new Level(Fields.NAME);

  @ReadOperation
  public Level level() {
    return level;
  }

  @WriteOperation
  public Level change(Fields fields) {
    level = new Level(fields);
    return level;
  }

  /** The list of a cinema as its callers get it. */
  Answer answer(Cinema cinema) {
    Fields fields = level.fields();
    List<Entry> movies = cinema.movies().stream().map(movie -> entry(movie, fields)).toList();
    return new Answer(cinema.id(), cinema.cinemaName(), movies);
  }

  private static Entry entry(Movie movie, Fields fields) {
    String name = fields == Fields.TITLE ? null : movie.name();
    String title = fields == Fields.NAME ? null : movie.name();
    return new Entry(movie.id(), name, title, movie.showTimes());
  }
}
