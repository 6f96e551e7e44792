package io.patternbench.cinema.broker;

import io.patternbench.cinema.messages.Messages;
import io.patternbench.cinema.web.Web;
import java.util.List;
import org.springframework.amqp.core.Declarables;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Import;

/** Takes requests by REST, passes them on as messages, and keeps the answers to be fetched. */
@SpringBootApplication
@Import({Web.class, Messages.class})
@EnableConfigurationProperties(BrokerProperties.class)
public class Broker {
  public static void main(String[] args) {
    SpringApplication.run(Broker.class, args);
  }

  /** Ages are counted by the monotonic clock, so a wall clock that is put right evicts nothing. */
  @Bean
  OpenRequests openRequests(BrokerProperties properties, FetchSettings settings, Replica replica) {
    return new OpenRequests(
        properties.cacheSize().toBytes(), settings, replica::newId, System::nanoTime);
  }

  @Bean
  Replica replica(@Value("${broker.replica}") String suffix) {
    return new Replica(suffix);
  }

  /** The queue of answers that only one of several brokers has; that of a single one is there. */
  @Bean
  Declarables ownAnswers(Replica replica) {
    return new Declarables(
        replica.suffix().isEmpty() ? List.of() : Messages.answers(replica.queue(), replica.key()));
  }
}
