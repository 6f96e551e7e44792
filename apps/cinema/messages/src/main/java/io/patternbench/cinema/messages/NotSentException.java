package io.patternbench.cinema.messages;

/** RabbitMQ does not have a message, or has not said that it has. */
public class NotSentException extends RuntimeException {
  private static final long serialVersionUID = 1;

  public NotSentException(String message, Throwable cause) {
    super(message, cause);
  }
}
