package io.patternbench.insurance.selfservice;

import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.ArgumentMatchers.anyString;
import static org.mockito.Mockito.doAnswer;
import static org.mockito.Mockito.doThrow;
import static org.mockito.Mockito.mock;

import java.net.ConnectException;
import java.time.Duration;
import java.util.List;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.springframework.amqp.AmqpConnectException;
import org.springframework.amqp.core.Message;
import org.springframework.amqp.core.ReturnedMessage;
import org.springframework.amqp.rabbit.connection.CorrelationData;
import org.springframework.amqp.rabbit.connection.CorrelationData.Confirm;
import org.springframework.amqp.rabbit.core.RabbitTemplate;

class QuoteMessagesTest {
  private final RabbitTemplate rabbit = mock(RabbitTemplate.class);
  private final QuoteMessages messages = new QuoteMessages(rabbit, Duration.ofMillis(1));

  @Test
  void aConfirmedMessageIsSent() {
    whenSent(sent -> sent.getFuture().complete(new Confirm(true, null)));
    assertThatCode(this::send).doesNotThrowAnyException();
  }

  @Test
  void aMessageThatTheBrokerDoesNotTakeIsNotSent() {
    whenSent(sent -> sent.getFuture().complete(new Confirm(false, "full")));
    assertThatThrownBy(this::send).hasMessageContaining("503");
  }

  @Test
  void aMessageForAQueueThatThereIsNotIsNotSent() {
    whenSent(
        sent -> {
          sent.setReturned(new ReturnedMessage(new Message(new byte[0]), 312, "NO_ROUTE", "", ""));
          sent.getFuture().complete(new Confirm(true, null));
        });
    assertThatThrownBy(this::send).hasMessageContaining("503");
  }

  @Test
  void aMessageThatNobodyConfirmsIsNotSent() {
    whenSent(sent -> {});
    assertThatThrownBy(this::send).hasMessageContaining("503");
  }

  @Test
  void withoutABrokerNothingIsSent() {
    doThrow(new AmqpConnectException(new ConnectException()))
        .when(rabbit)
        .convertAndSend(anyString(), anyString(), any(Object.class), any(CorrelationData.class));
    assertThatThrownBy(this::send).hasMessageContaining("503");
  }

  private void send() {
    messages.submit(List.of(Quotes.agreed()));
  }

  private void whenSent(Consumer<CorrelationData> broker) {
    doAnswer(
            call -> {
              broker.accept(call.getArgument(3));
              return null;
            })
        .when(rabbit)
        .convertAndSend(anyString(), anyString(), any(Object.class), any(CorrelationData.class));
  }
}
