package io.patternbench.cinema.messages;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.List;
import org.springframework.amqp.core.Binding;
import org.springframework.amqp.core.BindingBuilder;
import org.springframework.amqp.core.Declarable;
import org.springframework.amqp.core.Declarables;
import org.springframework.amqp.core.Queue;
import org.springframework.amqp.core.QueueBuilder;
import org.springframework.amqp.core.TopicExchange;
import org.springframework.amqp.rabbit.config.ContainerCustomizer;
import org.springframework.amqp.rabbit.core.RabbitTemplate;
import org.springframework.amqp.rabbit.listener.RabbitListenerEndpointRegistry;
import org.springframework.amqp.rabbit.listener.SimpleMessageListenerContainer;
import org.springframework.boot.autoconfigure.amqp.RabbitProperties;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/**
 * What every sender and reader of messages imports: the queues of some cinemas, and a publisher.
 */
@Configuration(proxyBeanMethods = false)
@EnableConfigurationProperties(MessagingProperties.class)
public class Messages {
  private static final long RECOVERY_MS = 500;
  private static final TopicExchange EXCHANGE = new TopicExchange(Names.EXCHANGE);

  /** Both sides declare all that they use, so neither has to wait for the other. */
  @Bean
  Declarables declarables(MessagingProperties properties) {
    List<Declarable> all = new ArrayList<>();
    all.add(EXCHANGE);
    all.addAll(answers(Names.RESPONSE_QUEUE, Names.TO_BROKER));
    all.add(QueueBuilder.durable(Names.UNREADABLE).build());
    properties.cinemas().forEach(cinema -> all.addAll(requests(cinema)));
    return new Declarables(all);
  }

  /** A queue of answers, and the key under which they are sent to it. */
  public static List<Declarable> answers(String name, String key) {
    Queue queue = durable(name);
    return List.of(queue, BindingBuilder.bind(queue).to(EXCHANGE).with(key));
  }

  private static List<Declarable> requests(String cinema) {
    Queue queue = durable(Names.requestQueue(cinema));
    Binding toAll = BindingBuilder.bind(queue).to(EXCHANGE).with(Names.TO_ALL);
    Binding toOne = BindingBuilder.bind(queue).to(EXCHANGE).with(Names.to(cinema));
    return List.of(queue, toAll, toOne);
  }

  private static Queue durable(String name) {
    return QueueBuilder.durable(name)
        .deadLetterExchange("")
        .deadLetterRoutingKey(Names.UNREADABLE)
        .build();
  }

  @Bean
  MessagingSettings messagingSettings(
      MessagingProperties properties,
      RabbitProperties rabbit,
      RabbitListenerEndpointRegistry listeners) {
    var simple = rabbit.getListener().getSimple();
    return new MessagingSettings(
        new MessagingSettings.Levels(
            simple.getConcurrency(), simple.getPrefetch(), properties.publish()),
        listeners);
  }

  @Bean
  Publisher publisher(
      RabbitTemplate rabbit, MessagingSettings settings, MessagingProperties properties) {
    return new Publisher(rabbit, settings, properties.confirmWithin());
  }

  @Bean
  Codec codec(ObjectMapper json) {
    return new Codec(json);
  }

  /** Spring's own 5 s would be most of what a restart of RabbitMQ costs. */
  @Bean
  ContainerCustomizer<SimpleMessageListenerContainer> recovery() {
    return reader -> reader.setRecoveryInterval(RECOVERY_MS);
  }
}
