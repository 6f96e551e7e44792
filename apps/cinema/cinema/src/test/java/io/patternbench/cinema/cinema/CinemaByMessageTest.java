package io.patternbench.cinema.cinema;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.patternbench.apps.testing.MariaDb;
import io.patternbench.apps.testing.RabbitMq;
import io.patternbench.apps.testing.RabbitMqServer;
import io.patternbench.cinema.messages.Codec;
import io.patternbench.cinema.messages.Names;
import io.patternbench.cinema.messages.Request;
import io.patternbench.cinema.messages.Request.Endpoint;
import java.io.IOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.UUID;
import javax.sql.DataSource;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.amqp.core.AnonymousQueue;
import org.springframework.amqp.core.BindingBuilder;
import org.springframework.amqp.core.Message;
import org.springframework.amqp.core.MessageBuilder;
import org.springframework.amqp.core.Queue;
import org.springframework.amqp.core.TopicExchange;
import org.springframework.amqp.rabbit.connection.CachingConnectionFactory;
import org.springframework.amqp.rabbit.core.RabbitAdmin;
import org.springframework.amqp.rabbit.core.RabbitTemplate;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.jdbc.core.simple.JdbcClient;

/** A cinema as RabbitMQ sees it: bad days. */
@MariaDb("cinema_ucd")
@RabbitMq
@SpringBootTest(
    properties = {"CHANNEL=message", "CINEMA=ucd", "CONFIRM_WITHIN=60s", "DATABASE_TIMEOUT_MS=500"})
class CinemaByMessageTest {
  private static final long PATIENCE_MS = 60_000;

  // Connections of the test's own: the cinema's may be those that fail.
  private final CachingConnectionFactory connections;
  private final RabbitTemplate rabbit;
  private final RabbitMqServer server;
  @Autowired private JdbcClient database;
  @Autowired private DataSource dataSource;
  @Autowired private ObjectMapper json;
  @Autowired private Codec codec;

  CinemaByMessageTest(RabbitMqServer server) {
    this.server = server;
    connections = new CachingConnectionFactory(URI.create(server.address()));
    rabbit = new RabbitTemplate(connections);
  }

  @AfterEach
  void disconnect() {
    connections.destroy();
  }

  @BeforeEach
  void empty() {
    database.sql("DELETE FROM reservations").update();
  }

  @Test
  void aRequestToAllIsAnsweredUnderItsCorrelationId() throws IOException {
    send(Names.TO_ALL, "any id", json.writeValueAsString(Request.of(Endpoint.LIST_MOVIES)));
    Message answer = answer();
    assertThat(answer.getMessageProperties().getCorrelationId()).isEqualTo("any id");
    assertThat(codec.answer(answer).cinema()).isEqualTo("ucd");
    assertThat(body(answer).get("movies")).hasSize(3);
  }

  @Test
  void anAnswerGoesToTheBrokerThatAsked() {
    String key = Names.TO_BROKER + "-2";
    Queue ofTheSecond = new AnonymousQueue();
    RabbitAdmin admin = new RabbitAdmin(connections);
    admin.declareQueue(ofTheSecond);
    admin.declareBinding(
        BindingBuilder.bind(ofTheSecond).to(new TopicExchange(Names.EXCHANGE)).with(key));
    Request list = Request.of(Endpoint.LIST_MOVIES);
    rabbit.send(Names.EXCHANGE, Names.to("ucd"), codec.request("second", list, key));
    Message answer = rabbit.receive(ofTheSecond.getName(), PATIENCE_MS);
    assertThat(Codec.correlationId(answer)).isEqualTo("second");
  }

  @Test
  void aReservationThatComesTwiceIsStoredOnceAndConfirmedTwice() throws IOException {
    UUID id = UUID.randomUUID();
    make(id, "UCD001");
    make(id, "UCD001");
    for (int i = 0; i < 2; i++) {
      Message answer = answer();
      assertThat(codec.answer(answer).status()).isEqualTo(200);
      assertThat(body(answer).get("id").asText()).isEqualTo(id.toString());
      assertThat(answer.getBody()).asString().contains("\"amount\":30.00");
    }
    assertThat(list()).hasSize(1);
  }

  @Test
  void aMovieThatIsNotShownIsRefusedByAnAnswer() throws IOException {
    make(UUID.randomUUID(), "CNW001");
    Message answer = answer();
    assertThat(codec.answer(answer).status()).isEqualTo(422);
    assertThat(body(answer).get("detail").asText()).isEqualTo("ucd shows no movie CNW001");
    assertThat(list()).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "[broken",
        "",
        "null",
        "{}",
        "{\"endpoint\": \"/unknown\"}",
        "{\"endpoint\": \"/reservation/make\"}",
        "{\"endpoint\": \"/reservation/make\", \"body\": {\"tickets\": 1}}",
        "{\"endpoint\": \"/reservation/make\","
            + " \"body\": {\"id\": \"00000000-0000-4000-8000-000000000000\"}}",
      })
  void aRequestThatCannotBeTakenInIsADeadLetterAndStopsNoOther(String body) throws IOException {
    send(Names.to("ucd"), "poison", body);
    assertThat(list()).isEmpty();
    assertThat(rabbit.receive(Names.UNREADABLE, PATIENCE_MS).getBody()).asString().isEqualTo(body);
  }

  @Test
  void aRequestWithoutACorrelationIdIsADeadLetterEvenThoughItCouldBeCarriedOut()
      throws IOException {
    String body =
        json.writeValueAsString(Request.toMake(Reservations.of(UUID.randomUUID(), "UCD001")));
    send(Names.to("ucd"), null, body);
    assertThat(rabbit.receive(Names.UNREADABLE, PATIENCE_MS).getBody()).asString().isEqualTo(body);
    assertThat(list()).isEmpty();
  }

  @Test
  void aReservationWaitsForADatabaseThatHangs() throws IOException, SQLException {
    UUID id = UUID.randomUUID();
    try (Connection lock = dataSource.getConnection();
        Statement statement = lock.createStatement()) {
      statement.execute("LOCK TABLES reservations WRITE, movies WRITE");
      make(id, "UCD001");
      // Longer than the cinema waits for its database: the request has come again in between.
      assertThat(rabbit.receive(Names.RESPONSE_QUEUE, 1500)).isNull();
      statement.execute("UNLOCK TABLES");
    }
    assertThat(body(answer()).get("id").asText()).isEqualTo(id.toString());
    assertThat(list()).hasSize(1);
  }

  @Test
  void rabbitMqRestartedWithAReservationInItLosesAndDoublesNone() throws IOException {
    UUID id = UUID.randomUUID();
    try (Connection lock = dataSource.getConnection();
        Statement statement = lock.createStatement()) {
      statement.execute("LOCK TABLES reservations WRITE, movies WRITE");
      make(id, "UCD001");
      server.stop();
      statement.execute("UNLOCK TABLES");
    } catch (SQLException e) {
      throw new IllegalStateException(e);
    }
    server.start();
    assertThat(body(answer()).get("id").asText()).isEqualTo(id.toString());
    assertThat(list()).hasSize(1);
  }

  private void make(UUID id, String movie) throws IOException {
    send(
        Names.to("ucd"),
        id.toString(),
        json.writeValueAsString(Request.toMake(Reservations.of(id, movie))));
  }

  /** The reservations, by a request that is answered after all that were sent before. */
  private JsonNode list() throws IOException {
    Request request = Request.of(Endpoint.LIST_RESERVATIONS);
    send(Names.to("ucd"), "list", json.writeValueAsString(request));
    Message answer = answer();
    while (!"list".equals(answer.getMessageProperties().getCorrelationId())) {
      answer = answer();
    }
    return body(answer);
  }

  private void send(String key, String correlationId, String body) {
    MessageBuilder message = MessageBuilder.withBody(body.getBytes(StandardCharsets.UTF_8));
    if (correlationId != null) {
      message.setCorrelationId(correlationId);
    }
    rabbit.send(Names.EXCHANGE, key, message.build());
  }

  private Message answer() {
    Message answer = rabbit.receive(Names.RESPONSE_QUEUE, PATIENCE_MS);
    assertThat(answer).as("an answer").isNotNull();
    return answer;
  }

  private JsonNode body(Message message) throws IOException {
    return json.readTree(message.getBody());
  }
}
