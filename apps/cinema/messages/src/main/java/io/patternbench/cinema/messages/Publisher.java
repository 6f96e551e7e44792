package io.patternbench.cinema.messages;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.springframework.amqp.AmqpException;
import org.springframework.amqp.core.Message;
import org.springframework.amqp.core.MessageBuilder;
import org.springframework.amqp.core.MessageProperties;
import org.springframework.amqp.rabbit.connection.CorrelationData;
import org.springframework.amqp.rabbit.core.RabbitTemplate;

/** Sends persistent messages of JSON to the exchange, under a correlation id. */
public class Publisher {
  private final RabbitTemplate rabbit;
  private final ObjectMapper json;
  private final MessagingSettings settings;
  private final Duration confirmWithin;

  Publisher(
      RabbitTemplate rabbit, ObjectMapper json, MessagingSettings settings, Duration confirmWithin) {
    this.rabbit = rabbit;
    this.json = json;
    this.settings = settings;
    this.confirmWithin = confirmWithin;
  }

  /**
   * Sends a message. Unless the setting is otherwise, it is then on RabbitMQ's disk or with whom it
   * is for.
   *
   * @throws NotSentException if that is not so, or not known
   */
  public void send(String key, String correlationId, Object content) {
    CorrelationData sent = new CorrelationData();
    try {
      rabbit.send(Names.EXCHANGE, key, message(correlationId, content), sent);
      if (settings.levels().publish() == Publish.CONFIRMED) {
        awaitConfirmation(sent);
      }
    } catch (AmqpException | ExecutionException | TimeoutException e) {
      throw new NotSentException("RabbitMQ does not answer", e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new NotSentException("this service ends", e);
    }
  }

  private void awaitConfirmation(CorrelationData sent)
      throws InterruptedException, ExecutionException, TimeoutException {
    boolean confirmed =
        sent.getFuture().get(confirmWithin.toMillis(), TimeUnit.MILLISECONDS).isAck();
    if (!confirmed || sent.getReturned() != null) {
      throw new NotSentException("RabbitMQ has not taken the message", null);
    }
  }

  private Message message(String correlationId, Object content) {
    try {
      return MessageBuilder.withBody(json.writeValueAsBytes(content))
          .setContentType(MessageProperties.CONTENT_TYPE_JSON)
          .setCorrelationId(correlationId)
          .build();
    } catch (JsonProcessingException e) {
      throw new UncheckedIOException(e);
    }
  }
}
