package io.patternbench.cinema.broker;

import io.patternbench.cinema.messages.Messages;
import io.patternbench.cinema.web.Web;
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
  OpenRequests openRequests(BrokerProperties properties, FetchSettings settings) {
    return new OpenRequests(properties.cacheSize().toBytes(), settings, System::nanoTime);
  }
}
