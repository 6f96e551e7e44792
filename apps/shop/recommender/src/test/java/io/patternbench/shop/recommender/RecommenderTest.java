package io.patternbench.shop.recommender;

import static org.assertj.core.api.Assertions.assertThat;
import static org.mockito.Mockito.mock;

import io.patternbench.shop.commons.web.PersistenceClient;
import io.patternbench.shop.commons.wire.Order;
import io.patternbench.shop.commons.wire.OrderItem;
import java.net.ConnectException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.context.TestConfiguration;
import org.springframework.boot.test.web.client.TestRestTemplate;
import org.springframework.boot.test.web.server.LocalManagementPort;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Primary;
import org.springframework.http.ResponseEntity;
import org.springframework.web.client.ResourceAccessException;

/** The service with a persistence that is away first, and then there. */
@SpringBootTest(webEnvironment = SpringBootTest.WebEnvironment.RANDOM_PORT)
class RecommenderTest {
  private static final List<Order> ORDERS =
      List.of(
          new Order(1, 1, null, 0, "", "", "", "", "", "", null),
          new Order(2, 2, null, 0, "", "", "", "", "", "", null));
  private static final List<OrderItem> ITEMS =
      List.of(
          new OrderItem(1, 10, 1, 1, 1),
          new OrderItem(2, 20, 1, 5, 1),
          new OrderItem(3, 30, 2, 9, 1));
  private static final Duration PATIENCE = Duration.ofSeconds(60);

  private static volatile boolean away = true;

  @Autowired private TestRestTemplate service;
  @LocalManagementPort private int admin;

  @TestConfiguration
  static class Played {
    @Bean
    @Primary
    PersistenceClient played() {
      return mock(
          PersistenceClient.class,
          call -> {
            if (away) {
              throw new ResourceAccessException("refused", new ConnectException());
            }
            return call.getMethod().getName().equals("orders") ? ORDERS : ITEMS;
          });
    }
  }

  @Test
  void itIsReadyOnceItHasLearntAndChangesItsAlgorithmWhileItRuns() {
    assertThat(readiness()).isEqualTo(503);
    assertThat(recommend(String.class).getStatusCode().value()).isEqualTo(503);
    away = false;
    Awaitility.await().atMost(PATIENCE).until(() -> readiness() == 200);
    assertThat(recommend(Long[].class).getBody()).containsExactly(20L, 30L);
    assertThat(algorithm("popularity")).isEqualTo(200);
    assertThat(recommend(Long[].class).getBody()).containsExactly(30L, 20L);
    assertThat(algorithm("chance")).isEqualTo(400);
    assertThat(algorithm("slope_one")).isEqualTo(200);
  }

  @Test
  void theLimitOfRequestsInProgressChangesWhileItRunsAndANumberBelowZeroIsRefused() {
    String url = actuator("concurrency");
    assertThat(changed("concurrency", "limit", "7")).isEqualTo(200);
    assertThat(service.getForObject(url, String.class)).isEqualTo("{\"limit\":7}");
    assertThat(changed("concurrency", "limit", "-1")).isEqualTo(400);
    assertThat(changed("concurrency", "limit", "0")).isEqualTo(200);
  }

  private <T> ResponseEntity<T> recommend(Class<T> type) {
    List<OrderItem> cart = List.of(OrderItem.inCart(10, 1, 1));
    return service.postForEntity("/recommend?uid=9", cart, type);
  }

  private int algorithm(String name) {
    return changed("algorithm", "algorithm", name);
  }

  private int changed(String endpoint, String setting, String level) {
    return service
        .postForEntity(actuator(endpoint), Map.of(setting, level), String.class)
        .getStatusCode()
        .value();
  }

  private int readiness() {
    return service.getForEntity(actuator("health/readiness"), String.class).getStatusCode().value();
  }

  private String actuator(String path) {
    return "http://127.0.0.1:" + admin + "/actuator/" + path;
  }
}
