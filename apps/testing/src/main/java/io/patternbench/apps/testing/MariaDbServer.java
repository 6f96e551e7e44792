package io.patternbench.apps.testing;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.Map;

/** Debian's MariaDB on a free port of loopback, with an empty data folder of its own. */
public final class MariaDbServer implements AutoCloseable {
  public static final String USER = "tests";
  public static final String PASSWORD = "only-for-tests";
  private static final Duration ANSWERS_WITHIN = Duration.ofSeconds(60);

  private final Path folder = LocalProcess.newFolder("mariadb");
  private final int port = LocalProcess.freePort();
  private LocalProcess server;

  public MariaDbServer() {
    LocalProcess.run(
        "install",
        folder,
        List.of(
            "/usr/bin/mariadb-install-db",
            "--no-defaults",
            "--datadir=" + folder.resolve("data"),
            "--user=" + System.getProperty("user.name"),
            "--skip-test-db",
            "--innodb-log-file-size=16M",
            "--auth-root-authentication-method=normal"),
        Map.of());
    start();
  }

  /** Starts the server, at the beginning and after {@link #stop}. */
  public void start() {
    server =
        LocalProcess.start(
            "mariadbd",
            folder,
            List.of(
                "/usr/sbin/mariadbd",
                "--no-defaults",
                "--datadir=" + folder.resolve("data"),
                "--user=" + System.getProperty("user.name"),
                "--port=" + port,
                "--bind-address=127.0.0.1",
                "--socket=" + folder.resolve("m.sock"),
                "--skip-name-resolve",
                "--innodb-log-file-size=16M",
                "--innodb-flush-log-at-trx-commit=2"),
            Map.of());
    server.await(ANSWERS_WITHIN, this::answers);
  }

  public void stop() {
    server.close();
  }

  private boolean answers() throws SQLException {
    try (Connection root = asRoot()) {
      return root.isValid(1);
    }
  }

  /** A database by this name, made if there is none; returns its address for JDBC. */
  public String database(String name) {
    try (Connection root = asRoot();
        Statement statement = root.createStatement()) {
      statement.execute("CREATE DATABASE IF NOT EXISTS " + name);
      statement.execute(
          "GRANT ALL ON %s.* TO '%s'@'%%' IDENTIFIED BY '%s'".formatted(name, USER, PASSWORD));
      return "jdbc:mariadb://127.0.0.1:%d/%s".formatted(port, name);
    } catch (SQLException e) {
      throw new IllegalStateException(e);
    }
  }

  private Connection asRoot() throws SQLException {
    return DriverManager.getConnection("jdbc:mariadb://127.0.0.1:" + port + "/", "root", "");
  }

  @Override
  public void close() {
    server.close();
    LocalProcess.remove(folder);
  }
}
