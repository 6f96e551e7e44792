package io.patternbench.cinema.cinema.message;

import io.patternbench.cinema.cinema.CinemaService;
import io.patternbench.cinema.commons.Reservation;
import io.patternbench.cinema.messages.Codec;
import io.patternbench.cinema.messages.MessagingSettings;
import io.patternbench.cinema.messages.NotSentException;
import io.patternbench.cinema.messages.Publisher;
import io.patternbench.cinema.messages.Request;
import jakarta.validation.ConstraintViolation;
import jakarta.validation.Validator;
import java.util.Set;
import org.springframework.amqp.ImmediateRequeueAmqpException;
import org.springframework.amqp.core.Message;
import org.springframework.amqp.rabbit.annotation.RabbitListener;
import org.springframework.context.annotation.Profile;
import org.springframework.dao.DataAccessException;
import org.springframework.stereotype.Component;
import org.springframework.web.ErrorResponseException;

/**
 * Answers the requests of this cinema's queue.
 *
 * <p>A request is taken from the queue only when its answer is sent, so neither is lost when this
 * process, RabbitMQ or the database dies in between: the request comes again. A reservation has its
 * id from the broker, so it is stored once, however often it comes.
 */
@Component
@Profile("by-message")
class RequestListener {
  private final CinemaService cinema;
  private final Publisher publisher;
  private final Codec codec;
  private final Validator validator;

  RequestListener(CinemaService cinema, Publisher publisher, Codec codec, Validator validator) {
    this.cinema = cinema;
    this.publisher = publisher;
    this.codec = codec;
    this.validator = validator;
  }

  @RabbitListener(
      id = MessagingSettings.LISTENER,
      queues = "requestQueue-cinema-${cinema.name}-service")
  void receive(Message message) {
    String correlationId = Codec.correlationId(message);
    Request request = codec.request(message);
    try {
      publisher.send(Codec.replyTo(message), answer(correlationId, request));
    } catch (DataAccessException | NotSentException notNow) {
      throw new ImmediateRequeueAmqpException(notNow);
    }
  }

  private Message answer(String correlationId, Request request) {
    try {
      return codec.answer(correlationId, cinema.name(), 200, content(request));
    } catch (ErrorResponseException refused) {
      int status = refused.getStatusCode().value();
      if (status >= 500) {
        throw new ImmediateRequeueAmqpException(refused);
      }
      return codec.answer(correlationId, cinema.name(), status, refused.getBody());
    }
  }

  private Object content(Request request) {
    return switch (request.endpoint()) {
      case LIST_MOVIES -> cinema.movies();
      case LIST_RESERVATIONS -> cinema.reservations();
      case MAKE_RESERVATION -> cinema.make(valid(request.body()));
    };
  }

  private Reservation valid(Reservation asked) {
    if (asked == null || asked.id() == null) {
      return Codec.refuse("the request has no reservation with an id", null);
    }
    Set<ConstraintViolation<Reservation>> violations = validator.validate(asked);
    return violations.isEmpty() ? asked : Codec.refuse(violations.toString(), null);
  }
}
