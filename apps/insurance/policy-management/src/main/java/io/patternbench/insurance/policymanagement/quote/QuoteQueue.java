package io.patternbench.insurance.policymanagement.quote;

import com.fasterxml.jackson.databind.ObjectMapper;
import org.springframework.amqp.ImmediateRequeueAmqpException;
import org.springframework.amqp.core.Queue;
import org.springframework.amqp.core.QueueBuilder;
import org.springframework.amqp.rabbit.annotation.RabbitListener;
import org.springframework.amqp.support.converter.Jackson2JsonMessageConverter;
import org.springframework.amqp.support.converter.MessageConverter;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.dao.DataAccessException;
import org.springframework.dao.DataIntegrityViolationException;
import org.springframework.stereotype.Component;

/**
 * Reads quote requests from the broker. A message that the database does not take now comes again;
 * one that it will never take, or that cannot be read, is kept in a queue of its own.
 */
@Component
class QuoteQueue {
  static final String QUEUE = "insurance-quote-requests";
  static final String UNREADABLE = QUEUE + ".unreadable";

  private final QuoteInbox inbox;

  QuoteQueue(QuoteInbox inbox) {
    this.inbox = inbox;
  }

  @RabbitListener(queues = QUEUE)
  void receive(QuoteMessage message) {
    try {
      inbox.submit(message.submitted());
      inbox.withdraw(message.withdrawn());
    } catch (DataIntegrityViolationException never) {
      throw never;
    } catch (DataAccessException notNow) {
      throw new ImmediateRequeueAmqpException(notNow);
    }
  }

  @Configuration(proxyBeanMethods = false)
  static class Queues {
    @Bean
    Queue quoteRequests() {
      return QueueBuilder.durable(QUEUE)
          .deadLetterExchange("")
          .deadLetterRoutingKey(UNREADABLE)
          .build();
    }

    @Bean
    Queue unreadableQuoteRequests() {
      return QueueBuilder.durable(UNREADABLE).build();
    }

    @Bean
    MessageConverter messageConverter(ObjectMapper json) {
      return new Jackson2JsonMessageConverter(json);
    }
  }
}
