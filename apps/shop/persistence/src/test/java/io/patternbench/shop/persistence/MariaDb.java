package io.patternbench.shop.persistence;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.awaitility.Awaitility;

/**
 * Debian's MariaDB on a free port of loopback, with an empty data folder, which ends with the
 * tests.
 */
final class MariaDb {
  static final String USER = "shop";
  static final String PASSWORD = "only-for-tests";

  private final Path folder;
  private final int port;
  private Process server;

  private MariaDb(Path folder, int port) {
    this.folder = folder;
    this.port = port;
  }

  /** Starts a server with an empty database. */
  static MariaDb start() {
    try {
      MariaDb database = new MariaDb(Files.createTempDirectory("shop-mariadb-"), freePort());
      Runtime.getRuntime().addShutdownHook(new Thread(database::remove));
      database.install();
      database.run();
      database.prepare();
      return database;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  String url() {
    return "jdbc:mariadb://127.0.0.1:%d/shop".formatted(port);
  }

  /** Starts the server, at the beginning and after {@link #stop}. */
  void run() throws IOException {
    server =
        start(
            "/usr/sbin/mariadbd",
            "--port=" + port,
            "--bind-address=127.0.0.1",
            "--socket=" + folder.resolve("m.sock"),
            "--skip-name-resolve",
            "--innodb-flush-log-at-trx-commit=2");
    Awaitility.await().atMost(Duration.ofSeconds(60)).until(this::answers);
  }

  void stop() {
    server.destroy();
    waitFor(server);
  }

  private void install() throws IOException {
    Process installer =
        start(
            "/usr/bin/mariadb-install-db",
            "--skip-test-db",
            "--auth-root-authentication-method=normal");
    if (waitFor(installer) != 0) {
      throw new IllegalStateException(Files.readString(folder.resolve("log")));
    }
  }

  private void prepare() {
    try (Connection root = asRoot();
        Statement statement = root.createStatement()) {
      statement.execute("CREATE DATABASE shop");
      statement.execute(
          "GRANT ALL ON shop.* TO '%s'@'%%' IDENTIFIED BY '%s'".formatted(USER, PASSWORD));
    } catch (SQLException e) {
      throw new IllegalStateException(e);
    }
  }

  private Process start(String program, String... options) throws IOException {
    List<String> command = new ArrayList<>(List.of(program, "--no-defaults"));
    command.add("--datadir=" + folder.resolve("data"));
    command.add("--user=" + System.getProperty("user.name"));
    command.add("--innodb-log-file-size=16M");
    command.addAll(List.of(options));
    File log = folder.resolve("log").toFile();
    return new ProcessBuilder(command)
        .redirectErrorStream(true)
        .redirectOutput(ProcessBuilder.Redirect.appendTo(log))
        .start();
  }

  private boolean answers() {
    try (Connection root = asRoot()) {
      return root.isValid(1);
    } catch (SQLException notYet) {
      return false;
    }
  }

  private Connection asRoot() throws SQLException {
    return DriverManager.getConnection("jdbc:mariadb://127.0.0.1:" + port + "/", "root", "");
  }

  private void remove() {
    if (server != null) {
      stop();
    }
    try (Stream<Path> inside = Files.walk(folder)) {
      inside.sorted(Comparator.reverseOrder()).map(Path::toFile).forEach(File::delete);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static int waitFor(Process process) {
    try {
      if (!process.waitFor(60, TimeUnit.SECONDS)) {
        process.destroyForcibly();
      }
      return process.waitFor();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(e);
    }
  }

  private static int freePort() throws IOException {
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return socket.getLocalPort();
    }
  }
}
