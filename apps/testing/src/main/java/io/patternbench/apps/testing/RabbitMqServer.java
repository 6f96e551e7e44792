package io.patternbench.apps.testing;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Debian's RabbitMQ on free ports of loopback, with a name and folders of its own, and with an epmd
 * of its own, which ends with it.
 */
public final class RabbitMqServer implements AutoCloseable {
  // Debian's /usr/sbin/rabbitmq-server changes to another user first.
  private static final Path PROGRAM = Path.of("/usr/lib/rabbitmq/bin/rabbitmq-server");
  private static final Path EPMD = Path.of("/usr/bin/epmd");
  private static final Duration ANSWERS_WITHIN = Duration.ofSeconds(90);

  private final Path folder = LocalProcess.newFolder("rabbitmq");
  private final int port = LocalProcess.freePort();
  private final int epmdPort = LocalProcess.freePort();
  private final int distributionPort = LocalProcess.freePort();
  private final LocalProcess epmd;
  private LocalProcess server;

  public static boolean isInstalled() {
    return Files.isExecutable(PROGRAM);
  }

  public RabbitMqServer() {
    write("rabbitmq.conf", "listeners.tcp.1 = 127.0.0.1:%d\nlog.console = true\n".formatted(port));
    write("enabled_plugins", "[].\n");
    epmd =
        LocalProcess.start(
            "epmd",
            folder,
            List.of(EPMD.toString(), "-address", "127.0.0.1", "-port", "" + epmdPort),
            Map.of());
    start();
  }

  /** Starts the broker, at the beginning and after {@link #stop}; it keeps its messages. */
  public void start() {
    server = LocalProcess.start("rabbitmq", folder, List.of(PROGRAM.toString()), environment());
    server.await(ANSWERS_WITHIN, this::speaks);
  }

  public void stop() {
    server.close();
  }

  public String address() {
    return "amqp://guest:guest@127.0.0.1:" + port;
  }

  /**
   * A port that accepts is not yet a broker that answers: it sends its version to a bad greeting.
   */
  private boolean speaks() throws IOException {
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
      socket.setSoTimeout(1000);
      socket.getOutputStream().write("HELLO...".getBytes(StandardCharsets.US_ASCII));
      byte[] answer = socket.getInputStream().readNBytes(4);
      return new String(answer, StandardCharsets.US_ASCII).equals("AMQP");
    }
  }

  private Map<String, String> environment() {
    Map<String, String> environment = new HashMap<>();
    environment.put("HOME", folder.toString());
    environment.put("RABBITMQ_NODENAME", "tests" + port + "@localhost");
    environment.put("RABBITMQ_CONFIG_FILE", folder.resolve("rabbitmq.conf").toString());
    environment.put("RABBITMQ_ENABLED_PLUGINS_FILE", folder.resolve("enabled_plugins").toString());
    environment.put("RABBITMQ_MNESIA_BASE", folder.resolve("mnesia").toString());
    environment.put("RABBITMQ_LOG_BASE", folder.resolve("log").toString());
    environment.put("RABBITMQ_PID_FILE", folder.resolve("pid").toString());
    environment.put("RABBITMQ_DIST_PORT", "" + distributionPort);
    environment.put("RABBITMQ_CONF_ENV_FILE", "/dev/null");
    environment.put(
        "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS", "-kernel inet_dist_use_interface {127,0,0,1}");
    environment.put("ERL_EPMD_ADDRESS", "127.0.0.1");
    environment.put("ERL_EPMD_PORT", "" + epmdPort);
    return environment;
  }

  private void write(String name, String text) {
    try {
      Files.writeString(folder.resolve(name), text);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  public void close() {
    server.close();
    epmd.close();
    LocalProcess.remove(folder);
  }
}
