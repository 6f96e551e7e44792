package io.patternbench.cinema.broker;

import io.patternbench.cinema.commons.Cinema;
import io.patternbench.cinema.messages.Codec;
import io.patternbench.cinema.messages.Names;
import java.util.List;
import org.springframework.amqp.core.Message;
import org.springframework.amqp.rabbit.core.RabbitTemplate;

/** Cinemas that answer when a test says so. */
final class Cinemas {
  static final List<String> ALL = List.of("cineworld", "dundrum", "ucd");
  private static final long PATIENCE_MS = 60_000;

  private final RabbitTemplate rabbit;
  private final Codec codec;

  Cinemas(RabbitTemplate rabbit, Codec codec) {
    this.rabbit = rabbit;
    this.codec = codec;
  }

  /** Takes a cinema's next request and answers it with its movies, of which it has none. */
  String answer(String cinema) {
    Message request = rabbit.receive(Names.requestQueue(cinema), PATIENCE_MS);
    String id = Codec.correlationId(request);
    send(codec.answer(id, cinema, 200, Cinema.of(cinema, List.of())));
    return id;
  }

  /** Sends what may be anything to the broker. */
  void send(Message message) {
    rabbit.send(Names.EXCHANGE, Names.TO_BROKER, message);
  }

  Message unreadable() {
    return rabbit.receive(Names.UNREADABLE, PATIENCE_MS);
  }
}
