package io.patternbench.cinema.monolith;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.zaxxer.hikari.HikariDataSource;
import io.patternbench.apps.commons.Problems;
import io.patternbench.cinema.cinema.CinemaOfDatabase;
import io.patternbench.cinema.cinema.CinemaService;
import io.patternbench.cinema.monolith.MonolithProperties.Database;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.stereotype.Component;

/** The cinemas by their names, each with a database of its own, as the services have. */
@Component
class Cinemas implements DisposableBean {
  private static final int CONNECT_TIMEOUT_MS = 2000; // as each cinema's own

  private final List<HikariDataSource> databases = new ArrayList<>();
  private final Map<String, CinemaService> cinemas = new TreeMap<>();

  Cinemas(MonolithProperties properties, ObjectMapper json) throws IOException {
    for (Map.Entry<String, Database> one : properties.databases().entrySet()) {
      HikariDataSource database = connections(one.getValue(), properties);
      databases.add(database);
      cinemas.put(
          one.getKey(), CinemaOfDatabase.of(one.getKey(), database, json, properties.listLimit()));
    }
  }

  private static HikariDataSource connections(Database where, MonolithProperties properties) {
    HikariDataSource database = new HikariDataSource();
    database.setJdbcUrl(where.url());
    database.setUsername(where.user());
    database.setPassword(where.password());
    database.setMaximumPoolSize(properties.pool());
    database.setConnectionTimeout(CONNECT_TIMEOUT_MS);
    database.addDataSourceProperty("connectTimeout", CONNECT_TIMEOUT_MS);
    database.addDataSourceProperty("socketTimeout", properties.timeoutMs());
    return database;
  }

  Collection<CinemaService> all() {
    return cinemas.values();
  }

  CinemaService of(String name) {
    CinemaService cinema = cinemas.get(name);
    if (cinema == null) {
      throw Problems.notFound("there is no cinema " + name);
    }
    return cinema;
  }

  @Override
  public void destroy() {
    databases.forEach(HikariDataSource::close);
  }
}
