package io.patternbench.cinema.messages;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.ArgumentMatchers.anyBoolean;
import static org.mockito.ArgumentMatchers.anyString;
import static org.mockito.Mockito.doAnswer;
import static org.mockito.Mockito.doThrow;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.never;
import static org.mockito.Mockito.verify;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.rabbitmq.client.Channel;
import io.patternbench.cinema.messages.MessagingSettings.Levels;
import io.patternbench.cinema.messages.Request.Endpoint;
import java.io.IOException;
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
import org.springframework.amqp.rabbit.core.ChannelCallback;
import org.springframework.amqp.rabbit.core.RabbitTemplate;
import org.springframework.amqp.rabbit.listener.RabbitListenerEndpointRegistry;

class PublisherTest {
  private final RabbitTemplate rabbit = mock(RabbitTemplate.class);
  private final Channel channel = mock(Channel.class);
  private final MessagingSettings settings =
      new MessagingSettings(
          new Levels(1, 250, Publish.CONFIRMED), new RabbitListenerEndpointRegistry());
  private final Publisher publisher = new Publisher(rabbit, settings, Duration.ofMillis(1));

  private Message message;

  @Test
  void aConfirmedMessageIsSentPersistentlyWithItsCorrelationId() throws IOException {
    whenSent(sent -> sent.getFuture().complete(new Confirm(true, null)));
    send();
    verify(channel, never()).abort();
    assertThat(message.getMessageProperties().getCorrelationId()).isEqualTo("id");
    assertThat(message.getMessageProperties().getDeliveryMode())
        .isEqualTo(MessageDeliveryMode.PERSISTENT);
    assertThat(message.getBody()).asString().contains("\"/movie/list\"");
  }

  @Test
  void aMessageThatRabbitMqDoesNotTakeIsNotSentAndNothingElseOnItsChannel() throws IOException {
    whenSent(sent -> sent.getFuture().complete(new Confirm(false, "no leader")));
    assertNotSent();
    verify(channel).abort();
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
    doThrow(new AmqpConnectException(new ConnectException())).when(rabbit).execute(any());
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
    doAnswer(call -> call.<ChannelCallback<?>>getArgument(0).doInRabbit(channel))
        .when(rabbit)
        .execute(any());
    doAnswer(
            call -> {
              message = call.getArgument(3);
              broker.accept(call.getArgument(5));
              return null;
            })
        .when(rabbit)
        .doSend(
            any(),
            anyString(),
            anyString(),
            any(Message.class),
            anyBoolean(),
            any(CorrelationData.class));
  }
}
