package io.patternbench.cinema.cinema;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.patternbench.cinema.commons.Reservation;
import java.io.UncheckedIOException;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.List;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.stereotype.Repository;

/** The table of reservations. */
@Repository
class ReservationRepository {
  private final JdbcClient database;
  private final ObjectMapper json;
  private final int limit;

  ReservationRepository(JdbcClient database, ObjectMapper json, CinemaProperties properties) {
    this.database = database;
    this.json = json;
    this.limit = properties.listLimit();
  }

  /** Stores a reservation once, however often it comes; returns what is stored under its id. */
  Reservation save(Reservation reservation) {
    return database
        .sql(
            """
            INSERT INTO reservations (id, movie_id, content) VALUES (:id, :movie, :content)
            ON DUPLICATE KEY UPDATE id = id
            RETURNING content
            """)
        .param("id", reservation.id().toString())
        .param("movie", reservation.movieId())
        .param("content", written(reservation))
        .query(this::reservation)
        .single();
  }

  /** The newest reservations, in the order in which they were made. */
  List<Reservation> newest() {
    return database
        .sql(
            """
            SELECT content FROM
              (SELECT number, content FROM reservations ORDER BY number DESC LIMIT :limit) AS newest
            ORDER BY number
            """)
        .param("limit", limit)
        .query(this::reservation)
        .list();
  }

  long count() {
    return database.sql("SELECT COUNT(*) FROM reservations").query(Long.class).single();
  }

  private String written(Reservation reservation) {
    try {
      return json.writeValueAsString(reservation);
    } catch (JsonProcessingException e) {
      throw new UncheckedIOException(e);
    }
  }

  private Reservation reservation(ResultSet row, int number) throws SQLException {
    try {
      return json.readValue(row.getString("content"), Reservation.class);
    } catch (JsonProcessingException e) {
      throw new SQLException("a reservation is not JSON", e);
    }
  }
}
