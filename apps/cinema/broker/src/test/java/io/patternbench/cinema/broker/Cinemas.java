package io.patternbench.cinema.broker;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.patternbench.cinema.commons.Cinema;
import io.patternbench.cinema.messages.Answer;
import io.patternbench.cinema.messages.Names;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.springframework.amqp.core.Message;
import org.springframework.amqp.core.MessageBuilder;
import org.springframework.amqp.core.MessageProperties;
import org.springframework.amqp.rabbit.core.RabbitTemplate;

/** Cinemas that answer when a test says so. */
final class Cinemas {
  static final List<String> ALL = List.of("cineworld", "dundrum", "ucd");
  private static final long PATIENCE_MS = 60_000;

  private final RabbitTemplate rabbit;
  private final ObjectMapper json;

  Cinemas(RabbitTemplate rabbit, ObjectMapper json) {
    this.rabbit = rabbit;
    this.json = json;
  }

  /** Takes the next request of a cinema. */
  Message request(String cinema) {
    return rabbit.receive(Names.requestQueue(cinema), PATIENCE_MS);
  }

  /** Takes a cinema's next request and answers it with its movies, of which it has none. */
  String answer(String cinema) {
    Message request = request(cinema);
    String id = request.getMessageProperties().getCorrelationId();
    send(id, written(new Answer(cinema, 200, json.valueToTree(Cinema.of(cinema, List.of())))));
    return id;
  }

  /** Sends what may be anything to the broker. */
  void send(String correlationId, String body) {
    MessageBuilder message = MessageBuilder.withBody(body.getBytes(StandardCharsets.UTF_8));
    message.setContentType(MessageProperties.CONTENT_TYPE_JSON);
    if (correlationId != null) {
      message.setCorrelationId(correlationId);
    }
    rabbit.send(Names.EXCHANGE, Names.TO_BROKER, message.build());
  }

  Message unreadable() {
    return rabbit.receive(Names.UNREADABLE, PATIENCE_MS);
  }

  private String written(Answer answer) {
    try {
      return json.writeValueAsString(answer);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
