package io.patternbench.cinema.messages;

import java.time.Duration;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.springframework.amqp.AmqpException;
import org.springframework.amqp.core.Message;
import org.springframework.amqp.rabbit.connection.CorrelationData;
import org.springframework.amqp.rabbit.core.RabbitTemplate;

/** Sends messages to the exchange. */
public class Publisher {
  private final RabbitTemplate rabbit;
  private final MessagingSettings settings;
  private final Duration confirmWithin;

  Publisher(RabbitTemplate rabbit, MessagingSettings settings, Duration confirmWithin) {
    this.rabbit = rabbit;
    this.settings = settings;
    this.confirmWithin = confirmWithin;
  }

  /**
   * Sends a message. Unless the setting is otherwise, it is then on RabbitMQ's disk or with whom it
   * is for.
   *
   * @throws NotSentException if that is not so, or not known
   */
  public void send(String key, Message message) {
    CorrelationData sent = new CorrelationData();
    try {
      rabbit.send(Names.EXCHANGE, key, message, sent);
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
}
