package io.patternbench.cinema.messages;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import org.springframework.amqp.AmqpRejectAndDontRequeueException;
import org.springframework.amqp.core.Message;

/** Reads messages. One that cannot be read goes to the dead letters, and stops no other. */
public final class Received {
  private final ObjectMapper json;

  public Received(ObjectMapper json) {
    this.json = json;
  }

  /** The content of a message. */
  public <T> T content(Message message, Class<T> type) {
    try {
      T content = json.readValue(message.getBody(), type);
      return content == null ? refuse("the message is empty", null) : content;
    } catch (IOException e) {
      return refuse("the message is not JSON of a " + type.getSimpleName(), e);
    }
  }

  /** The correlation id of a message. */
  public static String correlationId(Message message) {
    String id = message.getMessageProperties().getCorrelationId();
    return id == null ? refuse("the message has no correlation id", null) : id;
  }

  /** Says that a message can never be taken in. */
  public static <T> T refuse(String reason, Throwable cause) {
    throw new AmqpRejectAndDontRequeueException(reason, true, cause);
  }
}
