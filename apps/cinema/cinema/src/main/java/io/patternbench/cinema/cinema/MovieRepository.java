package io.patternbench.cinema.cinema;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.patternbench.cinema.commons.Movie;
import java.io.IOException;
import java.io.InputStream;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.List;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.stereotype.Repository;

/** The table of movies. What the cinema shows is written there when it starts. */
@Repository
class MovieRepository {
  private static final TypeReference<List<Movie>> MOVIES = new TypeReference<>() {};
  private static final TypeReference<List<String>> TIMES = new TypeReference<>() {};

  private final JdbcClient database;
  private final ObjectMapper json;

  MovieRepository(JdbcClient database, ObjectMapper json, CinemaProperties properties)
      throws IOException {
    this.database = database;
    this.json = json;
    try (InputStream movies = properties.movies().getInputStream()) {
      for (Movie movie : json.readValue(movies, MOVIES)) {
        save(movie);
      }
    }
  }

  /** A movie that nobody shows any more stays: it has reservations. */
  private void save(Movie movie) throws JsonProcessingException {
    database
        .sql(
            """
            INSERT INTO movies (id, name, show_times) VALUES (:id, :name, :times)
            ON DUPLICATE KEY UPDATE name = VALUES(name), show_times = VALUES(show_times)
            """)
        .param("id", movie.id())
        .param("name", movie.name())
        .param("times", json.writeValueAsString(movie.showTimes()))
        .update();
  }

  List<Movie> all() {
    return database
        .sql("SELECT id, name, show_times FROM movies ORDER BY id")
        .query(this::movie)
        .list();
  }

  private Movie movie(ResultSet row, int number) throws SQLException {
    return new Movie(row.getString("id"), row.getString("name"), times(row));
  }

  private List<String> times(ResultSet row) throws SQLException {
    try {
      return json.readValue(row.getString("show_times"), TIMES);
    } catch (JsonProcessingException e) {
      throw new SQLException("the show times of a movie are not JSON", e);
    }
  }
}
