package io.patternbench.kit;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicBoolean;

/** The contract's side of the client: HTTP on a loopback address, one round at a time. */
final class ContractServer {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final int MOST_BODY_BYTES = 16 * 1024 * 1024;

  /** Twice within the contract's 200ms, with room for a busy machine. */
  private static final long BATCH_EVERY_MS = 80;

  private final HttpServer http;
  private final Adapter adapter;
  private final AtomicBoolean busy = new AtomicBoolean();

  private ContractServer(HttpServer http, Adapter adapter) {
    this.http = http;
    this.adapter = adapter;
  }

  /** Serves on a port of the loopback address; 0 takes a free one. */
  static ContractServer start(int port, Adapter adapter) throws IOException {
    InetAddress loopback = InetAddress.getByName("127.0.0.1");
    HttpServer http = HttpServer.create(new InetSocketAddress(loopback, port), 0);
    ContractServer server = new ContractServer(http, adapter);
    http.createContext("/", server::answer);
    http.setExecutor(Executors.newCachedThreadPool());
    http.start();
    return server;
  }

  int port() {
    return http.getAddress().getPort();
  }

  void stop() {
    http.stop(0);
  }

  private void answer(HttpExchange exchange) throws IOException {
    try (exchange) {
      String call = exchange.getRequestMethod() + " " + exchange.getRequestURI().getPath();
      switch (call) {
        case "GET /client" -> reply(exchange, 200, adapter.description().asJson());
        case "POST /check" -> check(exchange);
        case "POST /rounds" -> round(exchange);
        default -> reply(exchange, 404, error(call + " isn't one of " + CALLS));
      }
    }
  }

  private static final String CALLS = "GET /client, POST /check, POST /rounds";

  private void check(HttpExchange exchange) throws IOException {
    reply(exchange, 200, Map.of("problems", readRound(exchange).problems()));
  }

  private void round(HttpExchange exchange) throws IOException {
    RoundReader.Read read = readRound(exchange);
    if (read.round() == null) {
      reply(exchange, 422, Map.of("problems", read.problems()));
    } else if (busy.compareAndSet(false, true)) {
      stream(exchange, read.round());
    } else {
      reply(exchange, 409, error("another round is running; wait for its end, or close it"));
    }
  }

  private RoundReader.Read readRound(HttpExchange exchange) throws IOException {
    return RoundReader.read(exchange.getRequestBody().readNBytes(MOST_BODY_BYTES), adapter);
  }

  /** The last line goes out when the client is free again: who has read it may start a round. */
  private void stream(HttpExchange exchange, Round round) throws IOException {
    Map<String, Object> lastLine;
    try {
      exchange.getResponseHeaders().set("Content-Type", "application/x-ndjson");
      exchange.sendResponseHeaders(200, 0);
      lastLine = run(round, exchange.getResponseBody());
    } finally {
      busy.set(false);
    }
    write(exchange.getResponseBody(), JSON.writeValueAsString(lastLine) + "\n");
  }

  /** A write fails once the other side has closed the connection; that abandons the round. */
  private Map<String, Object> run(Round round, OutputStream out) throws IOException {
    try (RunningRound running = new RunningRound(round, adapter)) {
      running.start();
      streamBatches(running, out);
      return lastLine(running);
    } catch (InterruptedException e) {
      return error("interrupted");
    } catch (OutOfMemoryError e) {
      return error("no thread for each of " + round.users() + " users: " + e.getMessage());
    }
  }

  private static void streamBatches(RunningRound running, OutputStream out)
      throws IOException, InterruptedException {
    boolean ended = false;
    while (!ended) {
      ended = running.awaitEnd(BATCH_EVERY_MS);
      writeBatches(running.rows().take(), out, ended);
    }
  }

  /** Without rows there is an empty batch, which notices whether anyone still listens. */
  private static void writeBatches(long[] rows, OutputStream out, boolean ended)
      throws IOException {
    int count = Rows.count(rows);
    for (int first = 0; first < count || (first == 0 && !ended); first += Rows.BATCH) {
      write(out, Rows.line(rows, first));
    }
  }

  private static Map<String, Object> lastLine(RunningRound running) {
    if (running.defect() != null) {
      return error("a user could not go on: " + running.defect());
    }
    return Map.of(
        "end",
        Map.of(
            "rows", running.rows().taken(),
            "duration_us", running.durationUs(),
            "cpu_us", running.cpuUs()));
  }

  private static void write(OutputStream out, String text) throws IOException {
    out.write(text.getBytes(StandardCharsets.UTF_8));
    out.flush();
  }

  private static Map<String, Object> error(String message) {
    return Map.of("error", message);
  }

  private static void reply(HttpExchange exchange, int status, Object json) throws IOException {
    byte[] body = JSON.writeValueAsBytes(json);
    exchange.getResponseHeaders().set("Content-Type", "application/json");
    exchange.sendResponseHeaders(status, body.length);
    exchange.getResponseBody().write(body);
  }
}
