package io.patternbench.insurance.system;

import static org.assertj.core.api.Assertions.assertThat;

import io.patternbench.apps.testing.NeedsRabbitMq;
import io.patternbench.insurance.commons.bundle.BundleForward;
import io.patternbench.insurance.commons.bundle.BundleReads;
import io.patternbench.insurance.system.Client.Answer;
import io.patternbench.insurance.testing.Callers;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.amqp.core.Message;
import org.springframework.amqp.core.MessageProperties;
import org.springframework.amqp.rabbit.connection.CachingConnectionFactory;
import org.springframework.amqp.rabbit.core.RabbitTemplate;

/** What becomes of requests when parts of the insurance fail. */
@NeedsRabbitMq
@ExtendWith(Shared.WithMessages.class)
class BadDaysTest {
  private static final Duration PATIENCE = Duration.ofSeconds(60);
  private static final String QUEUE = "insurance-quote-requests";

  private final Insurance insurance;
  private final Client employee = new Client(Callers.employee());
  private final Client customer = new Client(Callers.customer("c000000001"));
  private final String quotes;

  BadDaysTest(Insurance insurance) {
    this.insurance = insurance;
    this.quotes = insurance.selfService.url() + "/insurance-quote-requests";
  }

  @BeforeEach
  @AfterEach
  void empty() throws SQLException {
    insurance.bundlesGo(BundleReads.ONE_BY_ONE, BundleForward.EACH);
    try (Connection connection = insurance.database();
        Statement statement = connection.createStatement()) {
      statement.execute("DELETE FROM customer_self_service.insurance_quote_requests");
      statement.execute("DELETE FROM policy_management.insurance_quote_requests");
    }
  }

  @Test
  void aBrokerRestartedWithMessagesInFlightLosesNoneAndDoublesNone() throws Exception {
    Connection lock = lockedInbox();
    try {
      List<String> keys = new ArrayList<>();
      for (int i = 0; i < 20; i++) {
        keys.add("in flight " + i);
        assertThat(create(keys.get(i)).status()).isEqualTo(200);
      }
      insurance.broker.stop();
      assertThat(create("while the broker is away").status()).isEqualTo(503);
    } finally {
      lock.close();
    }
    insurance.broker.start();
    awaitCreated("while the broker is away");
    awaitTheSameOnBothSides(21);
  }

  @Test
  void aRequestThatIsRepeatedUnderItsKeyArrivesOnce() {
    String id = create("again").body().get("id").asText();
    assertThat(create("again").body().get("id").asText()).isEqualTo(id);
    awaitTheSameOnBothSides(1);
  }

  @ParameterizedTest
  @ValueSource(strings = {"[broken", "{}", "{\"submitted\": [{\"id\": \"a\"}], \"withdrawn\": []}"})
  void aMessageThatCannotBeTakenInIsKeptAndStopsNoOther(String body) {
    CachingConnectionFactory connections =
        new CachingConnectionFactory(URI.create(insurance.broker.address()));
    try {
      RabbitTemplate rabbit = new RabbitTemplate(connections);
      MessageProperties json = new MessageProperties();
      json.setContentType(MessageProperties.CONTENT_TYPE_JSON);
      rabbit.send(QUEUE, new Message(body.getBytes(), json));
      assertThat(create("after " + body).status()).isEqualTo(200);
      awaitTheSameOnBothSides(1);
      Message kept = rabbit.receive(QUEUE + ".unreadable", PATIENCE.toMillis());
      assertThat(kept.getBody()).asString().isEqualTo(body);
    } finally {
      connections.destroy();
    }
  }

  @Test
  void aDatabaseRestartedWithMessagesInFlightLosesNone() throws Exception {
    try (Connection lock = lockedInbox()) {
      for (int i = 0; i < 5; i++) {
        assertThat(create("stored later " + i).status()).isEqualTo(200);
      }
      assertThat(lock.isValid(1)).isTrue();
      insurance.store.stop();
    }
    insurance.store.start();
    awaitHealth();
    awaitTheSameOnBothSides(5);
  }

  @Test
  void aDatabaseThatWasRestartedIsUsedAgain() {
    insurance.store.stop();
    assertThat(create("without a database").status()).isEqualTo(503);
    assertThat(health()).isEqualTo(503);
    insurance.store.start();
    awaitCreated("without a database");
    awaitHealth();
    awaitTheSameOnBothSides(1);
  }

  /**
   * A pool asks whether a connection still lives only when nobody has used it for half a second.
   */
  private void awaitHealth() {
    Awaitility.await().during(Duration.ofMillis(700)).atMost(PATIENCE).until(() -> health() == 200);
  }

  private int health() {
    return employee.get(insurance.selfService.url() + "/actuator/health/readiness").status();
  }

  @Test
  void replicasShareTheirStoreAndOneEndsWithoutTheOther() {
    String id;
    try (Service replica = insurance.startSelfService()) {
      id = created(replica.url() + "/insurance-quote-requests");
    }
    assertThat(customer.get(quotes + "/" + id).status()).isEqualTo(200);
    awaitTheSameOnBothSides(1);
  }

  @Test
  void aServiceThatEndsFinishesWhatIsUnderWay() throws Exception {
    Service replica = insurance.startSelfService();
    CompletableFuture<Void> ended;
    CompletableFuture<String> underWay;
    try (Connection lock = insurance.database();
        Statement statement = lock.createStatement()) {
      statement.execute("LOCK TABLES customer_self_service.insurance_quote_requests WRITE");
      String url = replica.url() + "/insurance-quote-requests";
      underWay = CompletableFuture.supplyAsync(() -> created(url));
      awaitStatementThatWaits();
      ended = CompletableFuture.runAsync(replica::close);
      Awaitility.await().atMost(PATIENCE).until(() -> refuses(url));
    }
    assertThat(underWay.get()).isNotBlank();
    ended.get();
    awaitTheSameOnBothSides(1);
  }

  /** While it ends, a service does not take new connections; this client makes one each time. */
  private static boolean refuses(String url) {
    try (Socket socket = new Socket()) {
      socket.connect(new InetSocketAddress("127.0.0.1", URI.create(url).getPort()), 1000);
      return false;
    } catch (IOException e) {
      return true;
    }
  }

  private void awaitStatementThatWaits() {
    Awaitility.await()
        .atMost(PATIENCE)
        .until(
            () -> {
              try (Connection connection = insurance.database();
                  Statement statement = connection.createStatement();
                  ResultSet rows =
                      statement.executeQuery(
                          "SELECT 1 FROM information_schema.processlist"
                              + " WHERE state LIKE 'Waiting for table metadata lock'")) {
                return rows.next();
              }
            });
  }

  @Test
  void aBodyOfTenMegabytesIsAnsweredAndNotReset() {
    String body = "[\"" + "x".repeat(10_000_000) + "\"]";
    String url = insurance.management.url() + "/customers/";
    assertThat(employee.put(url + "addresses", body).status()).isEqualTo(413);
    assertThat(employee.get(url + "c000000001").status()).isEqualTo(200);
  }

  @Test
  void tenThousandItemsAreRefusedAtEveryEntry() {
    List<String> ids = Collections.nCopies(10_000, "c000000001");
    String management = insurance.management.url() + "/customers/addresses";
    String policies = insurance.policies.url() + "/policies/bundle";
    String quote = Bodies.repeated("{}", 10_000);
    assertTooMany(employee.put(management, Bodies.addresses(ids)));
    assertTooMany(customer.post(quotes + "/bundle", quote));
    assertTooMany(employee.post(policies, quote));
  }

  private static void assertTooMany(Answer answer) {
    assertThat(answer.status()).isEqualTo(400);
    assertThat(answer.body().get("detail").asText()).contains("this one has 10000");
  }

  @Test
  void whoeverSignsInIsKnownToAllServices() {
    Client nobody = new Client("");
    String credentials = "{\"email\": \"%s@example.org\", \"password\": \"insurance\"}";
    Answer ada =
        nobody.post(insurance.selfService.url() + "/auth", credentials.formatted("c000000002"));
    Client signedIn = new Client("Bearer " + ada.body().get("token").asText());
    String self = "/customers/c000000002";
    assertThat(signedIn.get(insurance.selfService.url() + self).status()).isEqualTo(200);
    assertThat(signedIn.get(insurance.core.url() + self).status()).isEqualTo(200);
    assertThat(signedIn.get(insurance.selfService.url() + "/customers/c000000001").status())
        .isEqualTo(403);
    assertThat(signedIn.get(insurance.management.url() + self).status()).isEqualTo(403);
  }

  private String created(String url) {
    Answer answer = customer.post(url, Bodies.QUOTE);
    assertThat(answer.status()).isEqualTo(200);
    return answer.body().get("id").asText();
  }

  private Answer create(String key) {
    return customer.post(quotes, Bodies.QUOTE, "Idempotency-Key", key);
  }

  private void awaitCreated(String key) {
    Awaitility.await().atMost(PATIENCE).until(() -> create(key).status() == 200);
  }

  private void awaitTheSameOnBothSides(int size) {
    Awaitility.await()
        .atMost(PATIENCE)
        .untilAsserted(() -> assertThat(insurance.quotesOf("policy_management")).hasSize(size));
    Set<String> received = new HashSet<>(insurance.quotesOf("policy_management"));
    assertThat(insurance.quotesOf("customer_self_service"))
        .containsExactlyInAnyOrderElementsOf(received);
  }

  /** Messages that are read now cannot be stored until this is closed. */
  private Connection lockedInbox() throws SQLException {
    Connection connection = insurance.database();
    try (Statement statement = connection.createStatement()) {
      statement.execute("LOCK TABLES policy_management.insurance_quote_requests WRITE");
    }
    return connection;
  }
}
