package io.patternbench.cinema.broker;

import io.patternbench.cinema.messages.MessagingProperties;
import io.patternbench.cinema.messages.Names;
import java.util.List;
import java.util.stream.Stream;
import org.springframework.amqp.AmqpException;
import org.springframework.amqp.core.AmqpAdmin;
import org.springframework.amqp.core.QueueInformation;
import org.springframework.boot.actuate.health.Health;
import org.springframework.boot.actuate.health.HealthIndicator;
import org.springframework.stereotype.Component;

/** Up when somebody reads each queue: every cinema its requests, and this process the answers. */
@Component("cinemasHealthIndicator")
class CinemasHealth implements HealthIndicator {
  private final AmqpAdmin rabbit;
  private final List<String> queues;

  CinemasHealth(AmqpAdmin rabbit, MessagingProperties properties, Replica replica) {
    this.rabbit = rabbit;
    this.queues =
        Stream.concat(
                properties.cinemas().stream().map(Names::requestQueue), Stream.of(replica.queue()))
            .toList();
  }

  @Override
  public Health health() {
    try {
      List<String> unread = queues.stream().filter(this::hasNoReader).toList();
      return unread.isEmpty()
          ? Health.up().build()
          : Health.down().withDetail("unread", unread).build();
    } catch (AmqpException e) {
      return Health.down().withDetail("rabbitmq", "does not answer").build();
    }
  }

  private boolean hasNoReader(String queue) {
    QueueInformation information = rabbit.getQueueInfo(queue);
    return information == null || information.getConsumerCount() == 0;
  }
}
