package io.patternbench.cinema.cinema.message;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.patternbench.cinema.cinema.CinemaService;
import io.patternbench.cinema.commons.Reservation;
import io.patternbench.cinema.messages.Answer;
import io.patternbench.cinema.messages.MessagingSettings;
import io.patternbench.cinema.messages.Names;
import io.patternbench.cinema.messages.NotSentException;
import io.patternbench.cinema.messages.Publisher;
import io.patternbench.cinema.messages.Received;
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
  private final ObjectMapper json;
  private final Validator validator;
  private final Received received;

  RequestListener(
      CinemaService cinema, Publisher publisher, ObjectMapper json, Validator validator) {
    this.cinema = cinema;
    this.publisher = publisher;
    this.json = json;
    this.validator = validator;
    this.received = new Received(json);
  }

  @RabbitListener(
      id = MessagingSettings.LISTENER,
      queues = "requestQueue-cinema-${cinema.name}-service")
  void receive(Message message) {
    String correlationId = Received.correlationId(message);
    Request request = received.content(message, Request.class);
    try {
      publisher.send(Names.TO_BROKER, correlationId, answer(request));
    } catch (DataAccessException | NotSentException notNow) {
      throw new ImmediateRequeueAmqpException(notNow);
    }
  }

  private Answer answer(Request request) {
    try {
      return answer(200, content(request));
    } catch (ErrorResponseException refused) {
      if (refused.getStatusCode().is5xxServerError()) {
        throw new ImmediateRequeueAmqpException(refused);
      }
      return answer(refused.getStatusCode().value(), refused.getBody());
    }
  }

  private Answer answer(int status, Object body) {
    return new Answer(cinema.name(), status, json.valueToTree(body));
  }

  private Object content(Request request) {
    if (request.endpoint() == null) {
      return Received.refuse("the request names no endpoint", null);
    }
    return switch (request.endpoint()) {
      case LIST_MOVIES -> cinema.movies();
      case LIST_RESERVATIONS -> cinema.reservations();
      case MAKE_RESERVATION -> cinema.make(valid(request.body()));
    };
  }

  private Reservation valid(Reservation asked) {
    if (asked == null || asked.id() == null) {
      return Received.refuse("the request has no reservation with an id", null);
    }
    Set<ConstraintViolation<Reservation>> violations = validator.validate(asked);
    return violations.isEmpty() ? asked : Received.refuse(violations.toString(), null);
  }
}
