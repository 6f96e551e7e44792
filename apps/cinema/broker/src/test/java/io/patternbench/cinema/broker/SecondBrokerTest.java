package io.patternbench.cinema.broker;

import static org.assertj.core.api.Assertions.assertThat;

import io.patternbench.apps.testing.RabbitMq;
import io.patternbench.cinema.commons.Cinema;
import io.patternbench.cinema.messages.Codec;
import io.patternbench.cinema.messages.Names;
import java.time.Duration;
import java.util.List;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.springframework.amqp.core.AmqpAdmin;
import org.springframework.amqp.core.Message;
import org.springframework.amqp.rabbit.core.RabbitTemplate;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.web.client.TestRestTemplate;
import org.springframework.http.ResponseEntity;

/** The second of two brokers on a real RabbitMQ, whose answers come to a queue of its own. */
@RabbitMq
@SpringBootTest(
    webEnvironment = SpringBootTest.WebEnvironment.RANDOM_PORT,
    properties = {"CONFIRM_WITHIN=60s", "FETCH=until_ready", "REPLICA=-2"})
class SecondBrokerTest {
  private static final Duration PATIENCE = Duration.ofSeconds(60);
  private static final String LIST = "/api/cinema/ucd/reservation/list";

  @Autowired private TestRestTemplate client;
  @Autowired private RabbitTemplate rabbit;
  @Autowired private AmqpAdmin admin;
  @Autowired private Codec codec;

  @Test
  void itIsAnsweredWhereItsRequestsSay() {
    String id = client.getForObject(LIST, String.class);
    assertThat(id).startsWith("2");
    Message request = rabbit.receive(Names.requestQueue("ucd"), PATIENCE.toMillis());
    assertThat(Codec.correlationId(request)).isEqualTo(id);
    assertThat(Codec.replyTo(request)).isEqualTo("response.from.cinema-2");
    rabbit.send(
        Names.EXCHANGE,
        Codec.replyTo(request),
        codec.answer(id, "ucd", 200, Cinema.of("ucd", List.of())));
    Awaitility.await().atMost(PATIENCE).until(() -> fetch(id).getStatusCode().value() == 200);
  }

  @Test
  void itIsReadyOnceItsOwnQueueHasAReader() {
    assertThat(admin.getQueueInfo("responseQueue-2").getConsumerCount()).isEqualTo(1);
    assertThat(client.getForEntity("/actuator/health/cinemas", String.class).getBody())
        .contains("requestQueue-cinema-ucd-service")
        .doesNotContain("responseQueue");
  }

  private ResponseEntity<String> fetch(String id) {
    return client.getForEntity(LIST + "/" + id, String.class);
  }
}
