package io.patternbench.apps.testing;

import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;

/** Debian's Redis on a free port of loopback, with an empty memory. */
public final class RedisServer implements AutoCloseable {
  private static final Duration ANSWERS_WITHIN = Duration.ofSeconds(20);

  private final Path folder = LocalProcess.newFolder("redis");
  private final int port = LocalProcess.freePort();
  private LocalProcess server;

  public RedisServer() {
    start();
  }

  /** Starts the server, at the beginning and after {@link #stop}. */
  public void start() {
    server =
        LocalProcess.start(
            "redis-server",
            folder,
            List.of(
                "/usr/bin/redis-server",
                "--port",
                Integer.toString(port),
                "--bind",
                "127.0.0.1",
                "--save",
                "",
                "--dir",
                folder.toString()),
            Map.of());
    server.await(ANSWERS_WITHIN, this::answers);
  }

  public void stop() {
    server.close();
  }

  private boolean answers() throws IOException {
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
      return socket.isConnected();
    }
  }

  /** Its address, as services are told. */
  public String url() {
    return "redis://127.0.0.1:" + port;
  }

  /** Removes all keys. */
  public void flush() {
    LocalProcess.run(
        "redis-cli",
        folder,
        List.of("/usr/bin/redis-cli", "-p", Integer.toString(port), "FLUSHALL"),
        Map.of());
  }

  @Override
  public void close() {
    server.close();
    LocalProcess.remove(folder);
  }
}
