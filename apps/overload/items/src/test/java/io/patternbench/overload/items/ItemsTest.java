package io.patternbench.overload.items;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.patternbench.apps.testing.MariaDb;
import io.patternbench.apps.testing.RedisServer;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.web.client.TestRestTemplate;
import org.springframework.boot.test.web.server.LocalManagementPort;
import org.springframework.http.ResponseEntity;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.test.context.DynamicPropertyRegistry;
import org.springframework.test.context.DynamicPropertySource;

/** The service with a real database and a real cache. */
@MariaDb("items")
@SpringBootTest(webEnvironment = SpringBootTest.WebEnvironment.RANDOM_PORT)
class ItemsTest {
  private static final RedisServer CACHE = new RedisServer();
  private static final Map<String, Object> USUAL =
      Map.of(
          "singleFlight",
          false,
          "waiting",
          "unbounded",
          "timeout",
          "5s",
          "ttl",
          "0ms",
          "lookups",
          9);

  @Autowired private TestRestTemplate service;
  @Autowired private Cache cache;
  @Autowired private Database database;
  @Autowired private JdbcTemplate tables;
  @LocalManagementPort private int admin;

  @DynamicPropertySource
  static void cache(DynamicPropertyRegistry settings) {
    settings.add("CACHE_URL", CACHE::url);
    settings.add("CACHE_TIMEOUT", () -> "300ms");
    settings.add("ITEMS", () -> "50");
  }

  @AfterAll
  static void close() {
    CACHE.close();
  }

  @BeforeEach
  void usual() {
    assertThat(options(USUAL)).isEqualTo(200);
  }

  @Test
  void theCacheIsAskedBeforeTheDatabase() {
    cache.put(new Item(7, "from the cache", 1), Duration.ZERO);
    assertThat(item(7).get("name").asText()).isEqualTo("from the cache");
    CACHE.flush();
    assertThat(item(7).get("name").asText()).isEqualTo("Item 7");
  }

  @Test
  void whatTheCacheLacksIsLookedUpAndPutThere() {
    CACHE.flush();
    Item expected = database.computed(9).get(6);
    assertThat(item(7).get("related").asLong()).isEqualTo(expected.related());
    assertThat(cache.get(7)).contains(expected);
  }

  @Test
  void withATimeToLiveTheCacheForgets() {
    cache.put(new Item(7, "soon gone", 1), Duration.ofMillis(50));
    Awaitility.await().until(() -> cache.get(7).isEmpty());
  }

  @Test
  void aLookupThatTakesTooLongEndsWith503AndLeavesTheCacheEmpty() {
    options(Map.of("timeout", "250ms", "lookups", 1_000_000, "ttl", "1ms"), USUAL);
    CACHE.flush();
    assertThat(status("/items/7")).isEqualTo(503);
    assertThat(cache.get(7)).isEmpty();
  }

  @Test
  void anItemThatIsNotThereIsNotFound() {
    assertThat(status("/items/51")).isEqualTo(404);
    assertThat(status("/items/one")).isEqualTo(400);
  }

  @Test
  void whileTheCacheIsAwayTheDatabaseAnswers() {
    CACHE.stop();
    try {
      assertThat(item(7).get("name").asText()).isEqualTo("Item 7");
    } finally {
      CACHE.start();
    }
  }

  @Test
  void aWarmCacheHoldsEveryItemAsALookupFindsIt() {
    CACHE.flush();
    assertThat(post("/actuator/warm", Map.of()).getBody().get("items").asInt()).isEqualTo(50);
    List<Item> expected = database.computed(9);
    assertThat(expected).allSatisfy(item -> assertThat(cache.get(item.id())).contains(item));
    CACHE.flush();
    assertThat(item(50).get("related").asLong()).isEqualTo(expected.get(49).related());
  }

  @Test
  void aNoteIsKeptWithItsTextAndOneThatIsTooLongIsRefused() {
    ResponseEntity<JsonNode> kept = note("fine tea");
    assertThat(kept.getStatusCode().value()).isEqualTo(201);
    assertThat(
            tables.queryForObject(
                "SELECT body FROM notes WHERE id = ?",
                String.class,
                kept.getBody().get("id").asText()))
        .isEqualTo("fine tea");
    assertThat(note("x".repeat(2001)).getStatusCode().value()).isEqualTo(400);
  }

  @Test
  void optionsThatCannotBeAreRefusedAndChangeNothing() {
    for (Map<String, Object> wrong :
        List.<Map<String, Object>>of(
            Map.of("timeout", "100ms"),
            Map.of("waiting", "-1"),
            Map.of("waiting", "many"),
            Map.of("lookups", 0))) {
      assertThat(options(wrong, USUAL)).isEqualTo(400);
    }
    String now = service.getForObject(actuator("/actuator/options"), String.class);
    assertThat(now).contains("\"lookups\":9");
  }

  private int options(Map<String, Object> changed, Map<String, Object> others) {
    Map<String, Object> all = new HashMap<>(others);
    all.putAll(changed);
    return options(all);
  }

  private int options(Map<String, Object> all) {
    return post("/actuator/options", all).getStatusCode().value();
  }

  private ResponseEntity<JsonNode> post(String path, Map<String, Object> body) {
    return service.postForEntity(actuator(path), body, JsonNode.class);
  }

  private String actuator(String path) {
    return "http://127.0.0.1:" + admin + path;
  }

  private ResponseEntity<JsonNode> note(String text) {
    return service.postForEntity("/items/7/notes", Map.of("text", text), JsonNode.class);
  }

  private JsonNode item(long id) {
    ResponseEntity<JsonNode> answer = service.getForEntity("/items/" + id, JsonNode.class);
    assertThat(answer.getStatusCode().value()).isEqualTo(200);
    return answer.getBody();
  }

  private int status(String path) {
    return service.getForEntity(path, String.class).getStatusCode().value();
  }
}
