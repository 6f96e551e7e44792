package io.patternbench.insurance.selfservice;

import io.patternbench.apps.commons.Problems;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.springframework.amqp.AmqpException;
import org.springframework.amqp.rabbit.connection.CorrelationData;
import org.springframework.amqp.rabbit.core.RabbitTemplate;

/** Quote requests as persistent messages, each confirmed by the broker before it counts as sent. */
final class QuoteMessages implements QuoteChannel {
  /** policy-management declares it and reads it. */
  static final String QUEUE = "insurance-quote-requests";

  private static final String NO_BROKER = "the broker of quote requests does not answer";

  private final RabbitTemplate rabbit;
  private final Duration confirmWithin;

  QuoteMessages(RabbitTemplate rabbit, Duration confirmWithin) {
    this.rabbit = rabbit;
    this.confirmWithin = confirmWithin;
  }

  /** What stands in a message. */
  record QuoteMessage(List<InsuranceQuoteRequest> submitted, List<Withdrawal> withdrawn) {}

  record Withdrawal(String id, String customerId) {}

  @Override
  public void submit(List<InsuranceQuoteRequest> requests) {
    send(new QuoteMessage(requests, List.of()));
  }

  @Override
  public void withdraw(String customerId, List<String> ids) {
    send(
        new QuoteMessage(
            List.of(), ids.stream().map(id -> new Withdrawal(id, customerId)).toList()));
  }

  private void send(QuoteMessage message) {
    CorrelationData sent = new CorrelationData();
    try {
      rabbit.convertAndSend("", QUEUE, message, sent);
      boolean confirmed =
          sent.getFuture().get(confirmWithin.toMillis(), TimeUnit.MILLISECONDS).isAck();
      if (!confirmed || sent.getReturned() != null) {
        throw Problems.unavailable("the queue of quote requests does not answer", null);
      }
    } catch (AmqpException | ExecutionException | TimeoutException e) {
      throw Problems.unavailable(NO_BROKER, e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw Problems.unavailable(NO_BROKER, e);
    }
  }
}
