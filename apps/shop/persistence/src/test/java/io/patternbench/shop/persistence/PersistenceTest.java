package io.patternbench.shop.persistence;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.patternbench.apps.testing.MariaDbServer;
import io.patternbench.shop.commons.wire.Order;
import io.patternbench.shop.commons.wire.OrderItem;
import java.io.ByteArrayInputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublisher;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.List;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.web.client.TestRestTemplate;
import org.springframework.boot.test.web.server.LocalManagementPort;
import org.springframework.http.ResponseEntity;
import org.springframework.test.context.DynamicPropertyRegistry;
import org.springframework.test.context.DynamicPropertySource;

/** The service with a real database: what it has, what it refuses, what it keeps. */
@SpringBootTest(webEnvironment = SpringBootTest.WebEnvironment.RANDOM_PORT)
class PersistenceTest {
  private static final MariaDbServer DATABASE = new MariaDbServer();

  @Autowired private TestRestTemplate service;
  @LocalManagementPort private int admin;

  @DynamicPropertySource
  static void database(DynamicPropertyRegistry settings) {
    settings.add("DATABASE_URL", () -> DATABASE.database("shop"));
    settings.add("DATABASE_USER", () -> MariaDbServer.USER);
    settings.add("DATABASE_PASSWORD", () -> MariaDbServer.PASSWORD);
  }

  @AfterAll
  static void close() {
    DATABASE.close();
  }

  @AfterEach
  void forget() {
    service.delete("http://127.0.0.1:" + admin + "/actuator/orders");
  }

  @Test
  void thereAreFiveCategoriesOfAHundredProducts() {
    JsonNode categories = get("/categories?start=-1&max=-1");
    assertThat(categories).hasSize(5);
    for (JsonNode category : categories) {
      assertThat(get("/products/count/" + category.get("id")).asInt()).isEqualTo(100);
    }
    assertThat(get("/products")).hasSize(500);
  }

  @Test
  void aPageHasSoManyProductsFromSoManyOn() {
    JsonNode page = get("/products/category/3?start=20&max=20");
    assertThat(page).hasSize(20);
    assertThat(page.get(0).get("id").asInt()).isEqualTo(221);
    assertThat(page.findValuesAsText("categoryId")).containsOnly("3");
    assertThat(get("/products/category/3?start=100&max=20")).isEmpty();
  }

  @Test
  void everybodyHasAtMostFiveOrdersOfAtMostTenProducts() {
    JsonNode orders = get("/orders");
    assertThat(orders.size()).isBetween(150, 400);
    for (int user = 1; user <= 100; user++) {
      assertThat(get("/orders/user/" + user).size()).isLessThanOrEqualTo(5);
    }
    for (JsonNode order : orders) {
      JsonNode items = get("/orderitems/order/" + order.get("id"));
      assertThat(items.size()).isBetween(1, 10);
      assertThat(order.get("totalPriceInCents").asLong()).isEqualTo(total(items));
    }
  }

  private static long total(JsonNode items) {
    long total = 0;
    for (JsonNode item : items) {
      total += item.get("quantity").asLong() * item.get("unitPriceInCents").asLong();
    }
    return total;
  }

  @Test
  void theDataAreTheSameOnEveryMachine() {
    assertThat(get("/products/421").toString())
        .isEqualTo(
            "{\"id\":421,\"categoryId\":5,\"name\":\"Mountain Blend\",\"description\":"
                + "\"White tea number 21, 150 g in a tin.\",\"listPriceInCents\":1955}");
    assertThat(get("/orderitems").size()).isEqualTo(1433);
  }

  @Test
  void productsOfABundleComeInItsOrderAndOneThatIsNotThereFailsAlone() {
    JsonNode bundle = get("/products?ids=7,9999,3");
    assertThat(bundle.get("size").asInt()).isEqualTo(3);
    assertThat(bundle.findValuesAsText("status")).containsExactly("200", "404", "200");
    assertThat(bundle.at("/items/0/body")).isEqualTo(get("/products/7"));
    assertThat(bundle.at("/items/1").has("body")).isFalse();
  }

  @Test
  void aBundleOfTooManyOrOfWordsIsRefused() {
    assertThat(status("/products?ids=" + "1,".repeat(1001))).isEqualTo(400);
    assertThat(status("/products?ids=")).isEqualTo(400);
    assertThat(status("/products?ids=1,,2")).isEqualTo(400);
    assertThat(status("/products?ids=one")).isEqualTo(400);
  }

  @Test
  void whatIsNotThereIsNotFound() {
    for (String path :
        List.of("/products/501", "/categories/6", "/users/name/nobody", "/users/0")) {
      assertThat(status(path)).isEqualTo(404);
    }
    assertThat(status("/products/one")).isEqualTo(400);
  }

  @Test
  void usersAreFoundByNameWithTheHashOfTheirPassword() {
    JsonNode user = get("/users/name/user99");
    assertThat(user.get("id").asInt()).isEqualTo(100);
    assertThat(user.get("password").asText()).startsWith("$2b$08$").hasSize(60);
  }

  @Test
  void anOrderIsKeptWithItsItemsAndForgottenBetweenRounds() {
    Order order = order(OrderItem.inCart(7, 2, 500), OrderItem.inCart(8, 1, 100));
    long id = place(order).getBody().asLong();
    assertThat(id).isGreaterThan(1000);
    assertThat(get("/orderitems/order/" + id).findValuesAsText("productId"))
        .containsExactly("7", "8");
    assertThat(get("/orders/user/1").get(0).get("totalPriceInCents").asInt()).isEqualTo(1100);
    forget();
    assertThat(get("/orderitems/order/" + id)).isEmpty();
    assertThat(get("/orders").size()).isGreaterThan(100);
  }

  @Test
  void anOrderOfAProductThatIsNotThereIsRefusedAsAWhole() {
    int before = get("/orders").size();
    Order order = order(OrderItem.inCart(7, 1, 1), OrderItem.inCart(9999, 1, 1));
    assertThat(place(order).getStatusCode().value()).isEqualTo(400);
    assertThat(get("/orders")).hasSize(before);
  }

  @Test
  void aBodyAboveTheLimitIsRefusedWhetherItSaysItsLengthOrNot() throws Exception {
    String url = service.getRootUri() + "/orders";
    byte[] body = ("{\"addressName\": \"" + "x".repeat(1 << 20) + "\"}").getBytes(UTF_8);
    for (BodyPublisher sent :
        List.of(
            BodyPublishers.ofByteArray(body),
            BodyPublishers.ofInputStream(() -> new ByteArrayInputStream(body)))) {
      HttpRequest request =
          HttpRequest.newBuilder(URI.create(url))
              .header("Content-Type", "application/json")
              .POST(sent)
              .build();
      HttpResponse<String> answer =
          HttpClient.newHttpClient().send(request, BodyHandlers.ofString());
      assertThat(answer.statusCode()).isEqualTo(413);
    }
  }

  @Test
  void aDatabaseThatIsAwayIsToldAndUsedAgainWhenItIsBack() throws Exception {
    DATABASE.stop();
    assertThat(status("/products/1")).isEqualTo(503);
    DATABASE.start();
    Awaitility.await().until(() -> status("/products/1") == 200);
  }

  private ResponseEntity<JsonNode> place(Order order) {
    return service.postForEntity("/orders", order, JsonNode.class);
  }

  private static Order order(OrderItem... items) {
    return new Order(
        0, 1, null, 1100, "Ada", "Teestrasse 1", "", "Visa", "1", "12/2030", List.of(items));
  }

  private JsonNode get(String path) {
    ResponseEntity<JsonNode> answer = service.getForEntity(path, JsonNode.class);
    assertThat(answer.getStatusCode().value()).isEqualTo(200);
    return answer.getBody();
  }

  private int status(String path) {
    return service.getForEntity(path, String.class).getStatusCode().value();
  }
}
