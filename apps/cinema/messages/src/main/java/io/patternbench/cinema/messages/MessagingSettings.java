package io.patternbench.cinema.messages;

import org.springframework.amqp.rabbit.listener.RabbitListenerEndpointRegistry;
import org.springframework.amqp.rabbit.listener.SimpleMessageListenerContainer;
import org.springframework.boot.actuate.endpoint.InvalidEndpointRequestException;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.annotation.WriteOperation;
import org.springframework.lang.Nullable;

/**
 * How this process reads and sends messages; read and changed at {@code /actuator/messaging}, while
 * it runs. Messages that were taken ahead go back to the queue when readers change.
 */
@Endpoint(id = "messaging")
public class MessagingSettings {
  /**
   * @param consumers readers of the queue, 1 to 100
   * @param prefetch messages that each reader takes ahead, 1 to 10,000
   */
  public record Levels(int consumers, int prefetch, Publish publish) {}

  /** The one listener of a process. */
  public static final String LISTENER = "messages";

  private static final int MOST_CONSUMERS = 100;
  private static final int MOST_PREFETCH = 10_000;

  private final RabbitListenerEndpointRegistry listeners;
  private volatile Levels levels;

  public MessagingSettings(Levels levels, RabbitListenerEndpointRegistry listeners) {
    this.levels = levels;
    this.listeners = listeners;
  }

  @ReadOperation
  public Levels levels() {
    return levels;
  }

  /** Changes the settings that are given; the others stay. */
  @WriteOperation
  public synchronized Levels change(
      @Nullable Integer consumers, @Nullable Integer prefetch, @Nullable Publish publish) {
    Levels wanted =
        new Levels(
            within("consumers", consumers, MOST_CONSUMERS, levels.consumers()),
            within("prefetch", prefetch, MOST_PREFETCH, levels.prefetch()),
            publish == null ? levels.publish() : publish);
    boolean otherReaders =
        wanted.consumers() != levels.consumers() || wanted.prefetch() != levels.prefetch();
    levels = wanted;
    if (otherReaders) {
      restart(wanted);
    }
    return wanted;
  }

  private static int within(String name, @Nullable Integer wanted, int most, int now) {
    if (wanted != null && (wanted < 1 || wanted > most)) {
      String reason = "%s: expected 1 to %d, got %d".formatted(name, most, wanted);
      throw new InvalidEndpointRequestException(reason, reason);
    }
    return wanted == null ? now : wanted;
  }

  private void restart(Levels wanted) {
    if (listeners.getListenerContainer(LISTENER) instanceof SimpleMessageListenerContainer reader) {
      reader.stop();
      reader.setConcurrentConsumers(wanted.consumers());
      reader.setPrefetchCount(wanted.prefetch());
      reader.start();
    }
  }
}
