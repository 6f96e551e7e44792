package io.patternbench.shop.commons.web;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.springframework.http.client.JdkClientHttpRequestFactory;
import org.springframework.web.client.HttpServerErrorException;
import org.springframework.web.client.ResourceAccessException;
import org.springframework.web.client.RestClient;
import org.springframework.web.service.annotation.GetExchange;

class InstancesTest {
  private final HttpServer one = server("one", 200);
  private final HttpServer two = server("two", 200);
  private final HttpServer failing = server("failing", 500);

  interface Names {
    @GetExchange("/name?of=you")
    String name();
  }

  @AfterEach
  void stop() {
    List.of(one, two, failing).forEach(server -> server.stop(0));
  }

  @Test
  void instancesAreAskedInTurnBelowThePath() {
    Names names = names(url(one), url(two));
    assertThat(List.of(names.name(), names.name(), names.name()))
        .containsExactly("one", "two", "one");
  }

  @Test
  void anInstanceThatRefusesTheConnectionIsPassedOver() throws IOException {
    Names names = names(nobody(), url(two));
    assertThat(List.of(names.name(), names.name())).containsExactly("two", "two");
  }

  @Test
  void anInstanceThatFailsIsNotAskedTwiceAndNeitherIsAnother() {
    Names names = names(url(failing), url(two));
    assertThatThrownBy(names::name).isInstanceOf(HttpServerErrorException.class);
    assertThat(names.name()).isEqualTo("two");
  }

  @Test
  void whenAllRefuseTheCallerIsTold() throws IOException {
    Names names = names(nobody(), nobody());
    assertThatThrownBy(names::name).isInstanceOf(ResourceAccessException.class);
  }

  private static Names names(URI... instances) {
    RestClient.Builder builder =
        RestClient.builder().requestFactory(new JdkClientHttpRequestFactory());
    return ServiceClients.made(builder, Names.class, List.of(instances), "/base");
  }

  private static HttpServer server(String name, int status) {
    try {
      HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", 0), 0);
      server.createContext(
          "/base/name",
          exchange -> {
            byte[] body = name.getBytes(StandardCharsets.UTF_8);
            exchange.sendResponseHeaders(status, body.length);
            exchange.getResponseBody().write(body);
            exchange.close();
          });
      server.start();
      return server;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static URI url(HttpServer server) {
    return URI.create("http://127.0.0.1:" + server.getAddress().getPort());
  }

  private static URI nobody() throws IOException {
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return URI.create("http://127.0.0.1:" + socket.getLocalPort());
    }
  }
}
