package io.patternbench.cinema.broker;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import io.patternbench.cinema.messages.Answer;
import io.patternbench.cinema.messages.Codec;
import io.patternbench.cinema.messages.MessagingSettings;
import io.patternbench.cinema.messages.Names;
import org.springframework.amqp.core.Message;
import org.springframework.amqp.rabbit.annotation.RabbitListener;
import org.springframework.stereotype.Component;

/** Takes in what cinemas answer. Answers that nobody waits for any more are counted. */
@Component
class AnswerListener {
  private final OpenRequests open;
  private final Codec codec;
  private final Counter unknown;

  AnswerListener(OpenRequests open, Codec codec, MeterRegistry meters) {
    this.open = open;
    this.codec = codec;
    this.unknown =
        Counter.builder("cinema.answers.unknown")
            .description("Answers to correlation ids that are unknown or forgotten")
            .register(meters);
    meters.gauge("cinema.requests.open", open, OpenRequests::size);
    meters.gauge("cinema.requests.bytes", open, OpenRequests::bytes);
  }

  @RabbitListener(
      id = MessagingSettings.LISTENER,
      queues = Names.RESPONSE_QUEUE + "${broker.replica}")
  void receive(Message message) {
    String id = Codec.correlationId(message);
    Answer answer = codec.answer(message);
    if (!Asking.uuid(id).map(uuid -> open.answered(uuid, answer)).orElse(false)) {
      unknown.increment();
    }
  }
}
