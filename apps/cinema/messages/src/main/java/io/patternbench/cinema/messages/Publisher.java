package io.patternbench.cinema.messages;

import com.rabbitmq.client.Channel;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.springframework.amqp.AmqpException;
import org.springframework.amqp.core.Message;
import org.springframework.amqp.rabbit.connection.ChannelProxy;
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
      Channel channel = rabbit.execute(open -> published(open, key, message, sent));
      if (settings.levels().publish() == Publish.CONFIRMED) {
        awaitConfirmation(sent, channel);
      }
    } catch (AmqpException | IOException | ExecutionException | TimeoutException e) {
      throw new NotSentException("RabbitMQ does not answer", e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new NotSentException("this service ends", e);
    }
  }

  private Channel published(Channel channel, String key, Message message, CorrelationData sent) {
    boolean mandatory = rabbit.isMandatoryFor(message);
    rabbit.doSend(channel, Names.EXCHANGE, key, message, mandatory, sent);
    return channel instanceof ChannelProxy proxy ? proxy.getTargetChannel() : channel;
  }

  private void awaitConfirmation(CorrelationData sent, Channel channel)
      throws IOException, InterruptedException, ExecutionException, TimeoutException {
    boolean confirmed =
        sent.getFuture().get(confirmWithin.toMillis(), TimeUnit.MILLISECONDS).isAck();
    if (!confirmed) {
      // RabbitMQ's channel keeps which node leads a quorum queue from its first message on. If that
      // node was dead, it refuses all that the channel sends, long after there is a new leader.
      channel.abort();
    }
    if (!confirmed || sent.getReturned() != null) {
      throw new NotSentException("RabbitMQ has not taken the message", null);
    }
  }
}
