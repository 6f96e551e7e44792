package io.patternbench.cinema.broker;

import static org.assertj.core.api.Assertions.assertThat;

import io.micrometer.core.instrument.MeterRegistry;
import io.patternbench.apps.testing.RabbitMq;
import io.patternbench.apps.testing.RabbitMqServer;
import io.patternbench.cinema.messages.Codec;
import io.patternbench.cinema.messages.MessagingSettings;
import io.patternbench.cinema.messages.Names;
import io.patternbench.cinema.messages.Publish;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.amqp.core.AmqpAdmin;
import org.springframework.amqp.core.MessageBuilder;
import org.springframework.amqp.rabbit.core.RabbitTemplate;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.web.client.TestRestTemplate;
import org.springframework.http.ResponseEntity;

/** The broker on a real RabbitMQ, with cinemas that answer when a test says so: bad days. */
@RabbitMq
@SpringBootTest(
    webEnvironment = SpringBootTest.WebEnvironment.RANDOM_PORT,
    properties = {"CONFIRM_WITHIN=60s", "FETCH=until_ready"})
class BrokerTest {
  private static final Duration PATIENCE = Duration.ofSeconds(60);
  private static final String MOVIES = "/api/movie/list";

  private final RabbitMqServer server;
  @Autowired private TestRestTemplate client;
  @Autowired private RabbitTemplate rabbit;
  @Autowired private AmqpAdmin admin;
  @Autowired private Codec codec;
  @Autowired private MeterRegistry meters;
  @Autowired private MessagingSettings messaging;
  private Cinemas cinemas;

  BrokerTest(RabbitMqServer server) {
    this.server = server;
  }

  @BeforeEach
  void useCinemas() {
    cinemas = new Cinemas(rabbit, codec);
  }

  @AfterEach
  void empty() {
    messaging.change(1, 250, Publish.CONFIRMED);
    Cinemas.ALL.forEach(cinema -> admin.purgeQueue(Names.requestQueue(cinema)));
    client.delete("/actuator/answers");
  }

  @Test
  void aListIsAskedOfAllCinemasByOneMessageAndIsCompleteWithTheLastAnswer() {
    String id = ask();
    for (String cinema : Cinemas.ALL) {
      assertThat(fetch(id).getStatusCode().value()).isEqualTo(202);
      assertThat(cinemas.answer(cinema)).isEqualTo(id);
      awaitAnswers(id, Cinemas.ALL.indexOf(cinema) + 1);
    }
    assertThat(fetch(id).getStatusCode().value()).isEqualTo(200);
  }

  @Test
  void aRequestToOneCinemaReachesNoOther() {
    client.getForObject("/api/cinema/ucd/reservation/list", String.class);
    String all = ask();
    assertThat(cinemas.answer("cineworld")).isEqualTo(all);
    assertThat(cinemas.answer("ucd")).isNotEqualTo(all);
  }

  @Test
  void aCinemaThatStartsLateAnswersWhatWasAskedBefore() {
    String id = ask();
    cinemas.answer("cineworld");
    cinemas.answer("dundrum");
    awaitAnswers(id, 2);
    cinemas.answer("ucd");
    awaitAnswers(id, 3);
  }

  @ParameterizedTest
  @ValueSource(strings = {"[broken", "", "null", "{}{}"})
  void anAnswerThatCannotBeReadIsADeadLetterAndStopsNoOther(String body) {
    String id = ask();
    cinemas.send(message(body).setCorrelationId(id).build());
    cinemas.answer("ucd");
    awaitAnswers(id, 1);
    assertThat(cinemas.unreadable().getBody()).asString().isEqualTo(body);
  }

  @ParameterizedTest
  @ValueSource(strings = {"cinema", "status"})
  void anAnswerWithoutOneOfItsHeadersIsADeadLetter(String header) {
    cinemas.send(message("[1]").setCorrelationId(ask()).removeHeader(header).build());
    assertThat(cinemas.unreadable().getBody()).asString().isEqualTo("[1]");
  }

  @Test
  void anAnswerWithoutACorrelationIdIsADeadLetter() {
    cinemas.send(message("[2]").build());
    assertThat(cinemas.unreadable().getBody()).asString().isEqualTo("[2]");
  }

  private static MessageBuilder message(String body) {
    MessageBuilder message = MessageBuilder.withBody(body.getBytes(StandardCharsets.UTF_8));
    message.setHeader("cinema", "ucd").setHeader("status", 200);
    return message;
  }

  @ParameterizedTest
  @ValueSource(strings = {"no id of ours", "00000000-0000-4000-8000-000000000000"})
  void anAnswerThatNobodyAskedForIsCountedAndForgotten(String id) {
    double before = unknown();
    cinemas.send(message("[]").setCorrelationId(id).build());
    Awaitility.await().atMost(PATIENCE).until(() -> unknown() == before + 1);
  }

  private double unknown() {
    return meters.counter("cinema.answers.unknown").count();
  }

  @Test
  void rabbitMqRestartedInMidRequestLosesNoRequest() {
    String id = ask();
    cinemas.answer("cineworld");
    awaitAnswers(id, 1);
    server.stop();
    assertThat(client.getForEntity(MOVIES, String.class).getStatusCode().value()).isEqualTo(503);
    server.start();
    assertThat(cinemas.answer("dundrum")).isEqualTo(id);
    assertThat(cinemas.answer("ucd")).isEqualTo(id);
    awaitAnswers(id, 3);
    Awaitility.await()
        .atMost(PATIENCE)
        .until(() -> client.getForEntity(MOVIES, String.class).getStatusCode().is2xxSuccessful());
  }

  @Test
  void answersArePushedAsTheyComeAndThenTheStreamEnds() {
    change("fetching", Map.of("wait", "60s"));
    String id = ask();
    cinemas.answer("ucd");
    CompletableFuture<String> stream =
        CompletableFuture.supplyAsync(
            () -> client.getForObject(MOVIES + "/" + id + "?fetch=pushed", String.class));
    cinemas.answer("dundrum");
    cinemas.answer("cineworld");
    assertThat(stream.join())
        .containsSubsequence("event:answer", "event:answer", "event:answer", "event:complete")
        .contains("\"cinemaName\":\"ucd\"", "data:3/3");
  }

  @Test
  void aStreamSaysWhatLacksWhenItsTimeIsOver() {
    change("fetching", Map.of("wait", "50ms"));
    String stream = client.getForObject(MOVIES + "/" + ask() + "?fetch=pushed", String.class);
    assertThat(stream).contains("event:incomplete", "data:0/3").doesNotContain("event:answer");
  }

  @Test
  void aLongPollThatIsNotAnsweredInTimeSaysWhatThereIs() {
    change("fetching", Map.of("wait", "50ms"));
    String id = ask();
    ResponseEntity<String> answer =
        client.getForEntity(MOVIES + "/" + id + "?fetch=long_poll", String.class);
    assertThat(answer.getStatusCode().value()).isEqualTo(202);
    assertThat(answer.getBody()).isEqualTo("[]");
  }

  @Test
  void readersOfAnswersChangeWhileTheBrokerRuns() {
    change("messaging", Map.of("consumers", 3, "prefetch", 10));
    Awaitility.await().atMost(PATIENCE).until(() -> readers() == 3);
    String id = ask();
    Cinemas.ALL.forEach(cinemas::answer);
    awaitAnswers(id, 3);
  }

  private int readers() {
    return admin.getQueueInfo(Names.RESPONSE_QUEUE).getConsumerCount();
  }

  @Test
  void cinemasAreReadyOnceEachQueueHasAReader() {
    assertThat(client.getForEntity("/actuator/health/cinemas", String.class).getBody())
        .contains("requestQueue-cinema-ucd-service")
        .doesNotContain("responseQueue");
    assertThat(
            client.getForEntity("/actuator/health/readiness", String.class).getStatusCode().value())
        .isEqualTo(200);
  }

  @Test
  void whatIsKeptCanBeForgotten() {
    String id = ask();
    assertThat(client.getForObject("/actuator/answers", String.class)).contains("\"open\":1");
    client.delete("/actuator/answers");
    assertThat(fetch(id).getStatusCode().value()).isEqualTo(404);
  }

  private String ask() {
    String id = client.getForObject(MOVIES, String.class);
    assertThat(UUID.fromString(id)).isNotNull();
    return id;
  }

  private ResponseEntity<String> fetch(String id) {
    return client.getForEntity(MOVIES + "/" + id, String.class);
  }

  private void awaitAnswers(String id, int number) {
    Awaitility.await()
        .atMost(PATIENCE)
        .until(() -> (number + "/3").equals(fetch(id).getHeaders().getFirst("Answers")));
  }

  private void change(String endpoint, Map<String, Object> levels) {
    ResponseEntity<String> answer =
        client.postForEntity("/actuator/" + endpoint, levels, String.class);
    assertThat(answer.getStatusCode().value()).isEqualTo(200);
  }
}
