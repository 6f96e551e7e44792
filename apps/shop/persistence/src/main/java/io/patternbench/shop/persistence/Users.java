package io.patternbench.shop.persistence;

import io.patternbench.shop.commons.wire.User;
import java.util.Optional;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.stereotype.Repository;

/** The table of users. Each method is one call of the database. */
@Repository
class Users {
  private final JdbcClient database;

  Users(JdbcClient database) {
    this.database = database;
  }

  Optional<User> user(long id) {
    return database
        .sql("SELECT * FROM users WHERE id = :id")
        .param("id", id)
        .query(User.class)
        .optional();
  }

  Optional<User> named(String name) {
    return database
        .sql("SELECT * FROM users WHERE user_name = :name")
        .param("name", name)
        .query(User.class)
        .optional();
  }
}
