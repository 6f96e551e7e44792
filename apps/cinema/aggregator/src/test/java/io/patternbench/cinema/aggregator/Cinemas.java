package io.patternbench.cinema.aggregator;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.patternbench.cinema.commons.Cinema;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import org.springframework.cloud.client.DefaultServiceInstance;
import org.springframework.cloud.client.ServiceInstance;
import org.springframework.cloud.client.discovery.DiscoveryClient;

/** One server that answers as any cinema, and the registry that says where they are. */
final class Cinemas implements DiscoveryClient {
  final Set<String> registered = new ConcurrentSkipListSet<>();
  final Set<String> failing = ConcurrentHashMap.newKeySet();

  /** The ports from which calls came: as many as there were connections. */
  final Set<Integer> connections = ConcurrentHashMap.newKeySet();

  /** What calls said of their caller, where they did. */
  final Queue<String> callers = new ConcurrentLinkedQueue<>();

  /** Cinemas that go while they are looked for: how many looks still find them. */
  final Map<String, AtomicInteger> looksLeft = new ConcurrentHashMap<>();

  /** Where set, a call is answered only when as many others are under way. */
  volatile CyclicBarrier together;

  private final HttpServer server;

  Cinemas() {
    try {
      server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    server.setExecutor(Executors.newCachedThreadPool());
    server.createContext("/cinema/", this::answer);
    server.start();
  }

  private void answer(HttpExchange exchange) throws IOException {
    connections.add(exchange.getRemoteAddress().getPort());
    Optional.ofNullable(exchange.getRequestHeaders().getFirst("Authorization"))
        .ifPresent(callers::add);
    exchange.getRequestBody().readAllBytes();
    awaitOthers();
    String name = exchange.getRequestURI().getPath().split("/")[2];
    byte[] body =
        "{\"id\":\"%s\",\"cinemaName\":\"%s\",\"movies\":[]}"
            .formatted(Cinema.of(name, List.of()).id(), name)
            .getBytes();
    exchange.getResponseHeaders().add("Content-Type", "application/json");
    exchange.sendResponseHeaders(failing.contains(name) ? 500 : 200, body.length);
    try (OutputStream response = exchange.getResponseBody()) {
      response.write(body);
    }
  }

  private void awaitOthers() {
    try {
      if (together != null) {
        together.await();
      }
    } catch (InterruptedException | BrokenBarrierException e) {
      throw new IllegalStateException(e);
    }
  }

  int port() {
    return server.getAddress().getPort();
  }

  void asAtFirst(String... names) {
    registered.clear();
    registered.addAll(Set.of(names));
    failing.clear();
    connections.clear();
    callers.clear();
    looksLeft.clear();
    together = null;
  }

  void close() {
    server.stop(0);
  }

  @Override
  public List<String> getServices() {
    Set<String> services = new HashSet<>(Set.of("aggregator-service", "api-gateway-service"));
    registered.forEach(name -> services.add(Cinema.service(name)));
    return List.copyOf(services);
  }

  @Override
  public List<ServiceInstance> getInstances(String service) {
    AtomicInteger left = looksLeft.getOrDefault(service, new AtomicInteger(1));
    return getServices().contains(service) && left.getAndDecrement() > 0
        ? List.of(new DefaultServiceInstance(service + "1", service, "127.0.0.1", port(), false))
        : List.of();
  }

  @Override
  public String description() {
    return "cinemas of a test";
  }
}
