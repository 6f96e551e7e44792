package io.patternbench.cinema.cinema;

import static org.assertj.core.api.Assertions.assertThat;
import static org.hamcrest.Matchers.contains;
import static org.springframework.test.web.servlet.request.MockMvcRequestBuilders.get;
import static org.springframework.test.web.servlet.result.MockMvcResultMatchers.jsonPath;
import static org.springframework.test.web.servlet.result.MockMvcResultMatchers.status;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.patternbench.apps.testing.MariaDb;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.autoconfigure.web.servlet.AutoConfigureMockMvc;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.test.context.DynamicPropertyRegistry;
import org.springframework.test.context.DynamicPropertySource;
import org.springframework.test.web.servlet.MockMvc;

/** A cinema that asks two others, for which one server stands. */
@MariaDb("cinema_cineworld")
@SpringBootTest(properties = {"eureka.client.enabled=false"})
@AutoConfigureMockMvc
class LinkedMoviesTest {
  private static final String ONE = "{\"cinemaName\":\"%s\",\"movies\":[]}";
  private static final Queue<String> ASKED = new ConcurrentLinkedQueue<>();
  private static final HttpServer SERVER = started();
  private static volatile int status = 200;

  @Autowired private MockMvc cinema;

  private static HttpServer started() {
    try {
      InetSocketAddress free = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
      HttpServer server = HttpServer.create(free, 0);
      server.createContext("/cinema/", LinkedMoviesTest::answer);
      server.start();
      return server;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static void answer(HttpExchange exchange) throws IOException {
    String path = exchange.getRequestURI().getPath();
    ASKED.add(path);
    String list = ONE.formatted(path.split("/")[2]);
    boolean chain = path.endsWith("/chain");
    byte[] body = (chain ? "[" + list + "," + ONE.formatted("last") + "]" : list).getBytes();
    exchange.getResponseHeaders().add("Content-Type", "application/json");
    exchange.sendResponseHeaders(status, body.length);
    try (OutputStream response = exchange.getResponseBody()) {
      response.write(body);
    }
  }

  @DynamicPropertySource
  static void registered(DynamicPropertyRegistry properties) {
    for (String name : new String[] {"aaa", "dundrum", "ucd"}) {
      String key = "spring.cloud.discovery.client.simple.instances.cinema-%s-service[0].uri";
      properties.add(
          key.formatted(name), () -> "http://127.0.0.1:" + SERVER.getAddress().getPort());
    }
  }

  @BeforeEach
  void asAtFirst() {
    ASKED.clear();
    status = 200;
  }

  @AfterAll
  static void stop() {
    SERVER.stop(0);
  }

  @Test
  void aChainAsksTheNextByNameAlone() throws Exception {
    cinema
        .perform(get("/movie/chain"))
        .andExpect(status().isOk())
        .andExpect(jsonPath("$[*].cinemaName", contains("cineworld", "dundrum", "last")));
    assertThat(ASKED).containsExactly("/cinema/dundrum/movie/chain");
  }

  @Test
  void branchesAskAllOthers() throws Exception {
    cinema
        .perform(get("/movie/branches"))
        .andExpect(status().isOk())
        .andExpect(jsonPath("$[*].cinemaName", contains("cineworld", "aaa", "dundrum", "ucd")));
  }

  @Test
  void aCinemaThatFailsFailsBoth() throws Exception {
    status = 500;
    cinema.perform(get("/movie/chain")).andExpect(status().isBadGateway());
    cinema.perform(get("/movie/branches")).andExpect(status().isBadGateway());
  }
}
