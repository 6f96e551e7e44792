package io.patternbench.kit;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntUnaryOperator;

/**
 * Answers request n with the status that its script says; 0 closes the connection, -1 never
 * answers.
 */
final class ScriptedServer implements AutoCloseable {
  private final HttpServer http;
  private final ExecutorService threads = Executors.newCachedThreadPool();
  private final IntUnaryOperator script;
  private final AtomicInteger requests = new AtomicInteger();

  ScriptedServer(IntUnaryOperator script) throws IOException {
    this.script = script;
    http = HttpServer.create(new InetSocketAddress(InetAddress.getByName("127.0.0.1"), 0), 0);
    http.createContext("/", this::answer);
    http.setExecutor(threads);
    http.start();
  }

  /** The statuses one after another, the last one for ever. */
  static ScriptedServer of(int... statuses) throws IOException {
    return new ScriptedServer(n -> statuses[Math.min(n, statuses.length - 1)]);
  }

  String url() {
    return "http://127.0.0.1:" + http.getAddress().getPort();
  }

  int requests() {
    return requests.get();
  }

  @Override
  public void close() {
    http.stop(0);
    threads.shutdownNow();
  }

  private void answer(HttpExchange exchange) throws IOException {
    int status = script.applyAsInt(requests.getAndIncrement());
    if (status == 0) {
      throw new IOException("the script closes the connection");
    }
    if (status < 0) {
      return;
    }
    exchange.sendResponseHeaders(status, -1);
    exchange.close();
  }
}
