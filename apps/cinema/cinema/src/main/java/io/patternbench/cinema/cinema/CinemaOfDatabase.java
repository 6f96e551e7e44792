package io.patternbench.cinema.cinema;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.time.Duration;
import javax.sql.DataSource;
import org.flywaydb.core.Flyway;
import org.springframework.core.io.ClassPathResource;
import org.springframework.jdbc.core.simple.JdbcClient;

/** Makes a cinema of its database, for a process that holds several of them. */
public final class CinemaOfDatabase {
  private static final String SCHEMA = "classpath:db/schema";

  private CinemaOfDatabase() {}

  /** The cinema of a name; its tables are made, and its movies written, before this returns. */
  public static CinemaService of(String name, DataSource database, ObjectMapper json, int listLimit)
      throws IOException {
    Flyway.configure().dataSource(database).locations(SCHEMA).load().migrate();
    CinemaProperties properties =
        new CinemaProperties(
            name,
            CinemaProperties.Channel.HTTP,
            new ClassPathResource("movies/" + name + ".json"),
            listLimit,
            Duration.ZERO);
    JdbcClient client = JdbcClient.create(database);
    return new CinemaService(
        properties,
        new MovieRepository(client, json, properties),
        new ReservationRepository(client, json, properties),
        new DelaySettings(properties));
  }
}
