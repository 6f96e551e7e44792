package io.patternbench.cinema.messages;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.UncheckedIOException;
import org.springframework.amqp.AmqpRejectAndDontRequeueException;
import org.springframework.amqp.core.Message;
import org.springframework.amqp.core.MessageBuilder;
import org.springframework.amqp.core.MessageProperties;

/**
 * Requests and answers as messages of JSON. The body of an answer is what goes to the client, byte
 * for byte; whose it is and its status are headers.
 *
 * <p>A message that cannot be read goes to the dead letters, and stops no other.
 */
public class Codec {
  static final String CINEMA = "cinema";
  static final String STATUS = "status";

  private final ObjectMapper json;

  public Codec(ObjectMapper json) {
    this.json = json;
  }

  /**
   * @param replyTo the key under which the answer is to be sent
   */
  public Message request(String correlationId, Request request, String replyTo) {
    MessageBuilder message = message(correlationId, request);
    return Names.TO_BROKER.equals(replyTo)
        ? message.build() // as published, where there is one broker
        : message.setReplyTo(replyTo).build();
  }

  /**
   * @param body that is written as JSON
   */
  public Message answer(String correlationId, String cinema, int status, Object body) {
    return message(correlationId, body).setHeader(CINEMA, cinema).setHeader(STATUS, status).build();
  }

  private MessageBuilder message(String correlationId, Object body) {
    try {
      MessageBuilder message = MessageBuilder.withBody(json.writeValueAsBytes(body));
      message.setContentType(MessageProperties.CONTENT_TYPE_JSON);
      message.setCorrelationId(correlationId);
      return message;
    } catch (JsonProcessingException e) {
      throw new UncheckedIOException(e);
    }
  }

  public Request request(Message message) {
    try {
      Request request = json.readValue(message.getBody(), Request.class);
      return request == null || request.endpoint() == null
          ? refuse("the message names no endpoint", null)
          : request;
    } catch (IOException e) {
      return refuse("the message is not JSON of a request", e);
    }
  }

  public Answer answer(Message message) {
    Object cinema = message.getMessageProperties().getHeader(CINEMA);
    Object status = message.getMessageProperties().getHeader(STATUS);
    if (cinema instanceof String name && status instanceof Integer number && number >= 200) {
      return new Answer(name, number, checked(message.getBody()));
    }
    return refuse("the answer lacks its cinema or its status", null);
  }

  /** Reads a document to its end, which is how one knows that it is JSON, and keeps nothing. */
  private byte[] checked(byte[] body) {
    try (JsonParser parser = json.getFactory().createParser(body)) {
      JsonToken first = parser.nextToken();
      if (first == null || !first.isStructStart()) {
        return refuse("the answer is neither an object nor a list", null);
      }
      parser.skipChildren();
      return parser.nextToken() == null ? body : refuse("the answer does not end", null);
    } catch (IOException e) {
      return refuse("the answer is not JSON", e);
    }
  }

  public static String correlationId(Message message) {
    String id = message.getMessageProperties().getCorrelationId();
    return id == null ? refuse("the message has no correlation id", null) : id;
  }

  /** The key under which the answer to a request is to be sent. */
  public static String replyTo(Message request) {
    String key = request.getMessageProperties().getReplyTo();
    return key == null ? Names.TO_BROKER : key;
  }

  /** Says that a message can never be taken in. */
  public static <T> T refuse(String reason, Throwable cause) {
    throw new AmqpRejectAndDontRequeueException(reason, true, cause);
  }
}
