package io.patternbench.cinema.messages;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.ArgumentMatchers.anyString;
import static org.mockito.Mockito.doAnswer;
import static org.mockito.Mockito.doThrow;
import static org.mockito.Mockito.mock;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.patternbench.cinema.messages.MessagingSettings.Levels;
import io.patternbench.cinema.messages.Request.Endpoint;
import java.net.ConnectException;
import java.time.Duration;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.springframework.amqp.AmqpConnectException;
import org.springframework.amqp.core.Message;
import org.springframework.amqp.core.MessageDeliveryMode;
import org.springframework.amqp.core.ReturnedMessage;
import org.springframework.amqp.rabbit.connection.CorrelationData;
import org.springframework.amqp.rabbit.connection.CorrelationData.Confirm;
import org.springframework.amqp.rabbit.core.RabbitTemplate;
import org.springframework.amqp.rabbit.listener.RabbitListenerEndpointRegistry;

class PublisherTest {
  private final RabbitTemplate rabbit = mock(RabbitTemplate.class);
  private final MessagingSettings settings =
      new MessagingSettings(
          new Levels(1, 250, Publish.CONFIRMED), new RabbitListenerEndpointRegistry());
  private final Publisher publisher = new Publisher(rabbit, settings, Duration.ofMillis(1));

  private Message message;

  @Test
  void aConfirmedMessageIsSentPersistentlyWithItsCorrelationId() {
    whenSent(sent -> sent.getFuture().complete(new Confirm(true, null)));
    send();
    assertThat(message.getMessageProperties().getCorrelationId()).isEqualTo("id");
    assertThat(message.getMessageProperties().getDeliveryMode())
        .isEqualTo(MessageDeliveryMode.PERSISTENT);
    assertThat(message.getBody()).asString().contains("\"/movie/list\"");
  }

  @Test
  void aMessageThatRabbitMqDoesNotTakeIsNotSent() {
    whenSent(sent -> sent.getFuture().complete(new Confirm(false, "full")));
    assertNotSent();
  }

  @Test
  void aMessageForAQueueThatDoesNotExistIsNotSent() {
    whenSent(
        sent -> {
          sent.setReturned(new ReturnedMessage(new Message(new byte[0]), 312, "NO_ROUTE", "", ""));
          sent.getFuture().complete(new Confirm(true, null));
        });
    assertNotSent();
  }

  @Test
  void aMessageThatNobodyConfirmsIsNotSent() {
    whenSent(sent -> {});
    assertNotSent();
  }

  @Test
  void withoutConfirmationsNobodyWaitsForThem() {
    settings.change(null, null, Publish.UNCONFIRMED);
    whenSent(sent -> {});
    assertThatCode(this::send).doesNotThrowAnyException();
  }

  @Test
  void withoutRabbitMqNothingIsSent() {
    doThrow(new AmqpConnectException(new ConnectException()))
        .when(rabbit)
        .send(anyString(), anyString(), any(Message.class), any(CorrelationData.class));
    assertNotSent();
  }

  private void assertNotSent() {
    assertThatThrownBy(this::send).isInstanceOf(NotSentException.class);
  }

  private void send() {
    publisher.send(
        Names.TO_ALL,
        new Codec(new ObjectMapper())
            .request("id", Request.of(Endpoint.LIST_MOVIES), Names.TO_BROKER));
  }

  private void whenSent(Consumer<CorrelationData> broker) {
    doAnswer(
            call -> {
              message = call.getArgument(2);
              broker.accept(call.getArgument(3));
              return null;
            })
        .when(rabbit)
        .send(anyString(), anyString(), any(Message.class), any(CorrelationData.class));
  }
}
