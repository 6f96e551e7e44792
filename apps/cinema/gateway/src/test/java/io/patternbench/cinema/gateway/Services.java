package io.patternbench.cinema.gateway;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import org.springframework.cloud.client.DefaultServiceInstance;
import org.springframework.cloud.client.ServiceInstance;
import org.springframework.cloud.client.discovery.ReactiveDiscoveryClient;
import reactor.core.publisher.Flux;

/** Services that a test makes come and go, in a registry of its own. */
final class Services implements ReactiveDiscoveryClient {
  private final Map<String, Service> running = new ConcurrentHashMap<>();

  /** A service that answers every request with its name and the path, as its test says. */
  static final class Service {
    final AtomicInteger requests = new AtomicInteger();
    volatile int status = 200;

    /** What it answers as JSON; where not set, its name and the path. */
    volatile String json;

    volatile CountDownLatch answers = new CountDownLatch(0);
    private final String name;
    private final HttpServer server;

    private Service(String name) {
      this.name = name;
      try {
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
      server.setExecutor(Executors.newCachedThreadPool());
      server.createContext("/", this::answer);
      server.start();
    }

    private void answer(HttpExchange exchange) throws IOException {
      requests.incrementAndGet();
      exchange.getRequestBody().readAllBytes();
      awaitTurn();
      byte[] body = body(exchange).getBytes();
      exchange.sendResponseHeaders(status, body.length);
      try (OutputStream response = exchange.getResponseBody()) {
        response.write(body);
      }
    }

    private String body(HttpExchange exchange) {
      if (json == null) {
        return name + " " + exchange.getRequestURI();
      }
      exchange.getResponseHeaders().set("Content-Type", "application/json");
      return json;
    }

    private void awaitTurn() {
      try {
        answers.await();
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }
  }

  Service start(String name) {
    Service service = new Service(name);
    running.put(name, service);
    return service;
  }

  void stopAll() {
    running.values().forEach(service -> service.answers.countDown());
    running.values().forEach(service -> service.server.stop(0));
    running.clear();
  }

  @Override
  public Flux<ServiceInstance> getInstances(String name) {
    Service service = running.get(name);
    return service == null ? Flux.empty() : Flux.just(instance(service));
  }

  private static ServiceInstance instance(Service service) {
    int port = service.server.getAddress().getPort();
    return new DefaultServiceInstance(service.name + "1", service.name, "127.0.0.1", port, false);
  }

  @Override
  public Flux<String> getServices() {
    return Flux.fromIterable(List.copyOf(running.keySet()));
  }

  @Override
  public String description() {
    return "services of a test";
  }
}
