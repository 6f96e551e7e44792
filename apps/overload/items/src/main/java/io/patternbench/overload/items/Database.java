package io.patternbench.overload.items;

import io.patternbench.apps.commons.Problems;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.List;
import java.util.UUID;
import java.util.stream.LongStream;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.context.event.ApplicationStartedEvent;
import org.springframework.context.event.EventListener;
import org.springframework.jdbc.core.ConnectionCallback;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.stereotype.Repository;

/** The tables of items and notes. */
@Repository
class Database {
  private static final int BATCH = 1000;
  private static final String FOLLOWS = "SELECT follows FROM items WHERE id = ?";
  private static final String NAME = "SELECT name FROM items WHERE id = ?";

  private final JdbcTemplate database;
  private final int items;

  Database(JdbcTemplate database, @Value("${items.count}") int items) {
    this.database = database;
    this.items = items;
  }

  /** Fills the table of items once; they are the same on every machine. */
  @EventListener(ApplicationStartedEvent.class)
  void fill() {
    if (database.queryForObject("SELECT COUNT(*) FROM items", Long.class) > 0) {
      return;
    }
    List<Object[]> rows = LongStream.rangeClosed(1, items).mapToObj(this::row).toList();
    for (int from = 0; from < items; from += BATCH) {
      database.batchUpdate(
          "INSERT INTO items (id, follows, name) VALUES (?, ?, ?)",
          rows.subList(from, Math.min(from + BATCH, items)));
    }
  }

  private Object[] row(long id) {
    return new Object[] {id, follows(id), "Item " + id};
  }

  private long follows(long id) {
    return 1 + (id * 31 + 7) % items;
  }

  /** Looks an item up over one connection, reading a number of rows one after another. */
  Item item(long id, int lookups, Deadline deadline) {
    return database.execute(
        (ConnectionCallback<Item>) connection -> lookUp(connection, id, lookups, deadline));
  }

  private static Item lookUp(Connection connection, long id, int lookups, Deadline deadline)
      throws SQLException {
    try (PreparedStatement name = connection.prepareStatement(NAME);
        PreparedStatement follows = connection.prepareStatement(FOLLOWS)) {
      String found = text(name, id);
      long at = id;
      for (int step = 1; step < lookups; step++) {
        deadline.check();
        at = Long.parseLong(text(follows, at));
      }
      return new Item(id, found, at);
    }
  }

  private static String text(PreparedStatement statement, long id) throws SQLException {
    statement.setLong(1, id);
    try (ResultSet rows = statement.executeQuery()) {
      if (!rows.next()) {
        throw Problems.notFound("item", id);
      }
      return rows.getString(1);
    }
  }

  /** All items as lookups find them, but computed, which takes no time of the database. */
  List<Item> computed(int lookups) {
    return LongStream.rangeClosed(1, items).mapToObj(id -> computed(id, lookups)).toList();
  }

  private Item computed(long id, int lookups) {
    long at = id;
    for (int step = 1; step < lookups; step++) {
      at = follows(at);
    }
    return new Item(id, "Item " + id, at);
  }

  /** Keeps a note on an item in a transaction of its own; returns its id. */
  String keep(long item, String text) {
    String id = UUID.randomUUID().toString();
    database.update("INSERT INTO notes (id, item, body) VALUES (?, ?, ?)", id, item, text);
    return id;
  }
}
