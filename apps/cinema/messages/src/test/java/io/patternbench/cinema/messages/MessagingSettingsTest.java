package io.patternbench.cinema.messages;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.Mockito.inOrder;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.verifyNoInteractions;
import static org.mockito.Mockito.when;

import io.patternbench.cinema.messages.MessagingSettings.Levels;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.amqp.rabbit.listener.RabbitListenerEndpointRegistry;
import org.springframework.amqp.rabbit.listener.SimpleMessageListenerContainer;
import org.springframework.boot.actuate.endpoint.InvalidEndpointRequestException;

class MessagingSettingsTest {
  private final SimpleMessageListenerContainer reader = mock(SimpleMessageListenerContainer.class);
  private final RabbitListenerEndpointRegistry listeners =
      mock(RabbitListenerEndpointRegistry.class);
  private final MessagingSettings settings =
      new MessagingSettings(new Levels(1, 250, Publish.CONFIRMED), listeners);

  MessagingSettingsTest() {
    when(listeners.getListenerContainer(any())).thenReturn(reader);
  }

  @Test
  void readersStopBeforeTheyChangeAndStartAfterwards() {
    assertThat(settings.change(3, 10, null)).isEqualTo(new Levels(3, 10, Publish.CONFIRMED));
    var order = inOrder(reader);
    order.verify(reader).stop();
    order.verify(reader).setConcurrentConsumers(3);
    order.verify(reader).setPrefetchCount(10);
    order.verify(reader).start();
  }

  @Test
  void readersGoOnWhereTheyAreToStayAsTheyAre() {
    settings.change(1, 250, Publish.UNCONFIRMED);
    verifyNoInteractions(reader);
  }

  @ParameterizedTest
  @CsvSource({"0,1", "101,1", "1,0", "1,10001"})
  void anImpossibleNumberIsRefusedAndChangesNothing(int consumers, int prefetch) {
    assertThatThrownBy(() -> settings.change(consumers, prefetch, Publish.UNCONFIRMED))
        .isInstanceOf(InvalidEndpointRequestException.class)
        .hasMessageContaining("expected 1 to");
    assertThat(settings.levels()).isEqualTo(new Levels(1, 250, Publish.CONFIRMED));
    verifyNoInteractions(reader);
  }
}
