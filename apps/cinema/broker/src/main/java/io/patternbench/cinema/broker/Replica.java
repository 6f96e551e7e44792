package io.patternbench.cinema.broker;

import io.patternbench.cinema.messages.Names;
import java.util.UUID;

/**
 * Which of several brokers this one is.
 *
 * <p>Answers wait in the memory of the broker that was asked. So each of several brokers has a
 * queue of answers of its own, and its correlation ids begin with its number: whoever stands in
 * front of the brokers sends a fetch to the one that has the answers.
 *
 * @param suffix of the names that are its own, such as {@code -2}; empty where it is the only one
 */
record Replica(String suffix) {
  private static final int DIGIT_AT = Long.SIZE - 4; // the first of an id's 32 digits

  Replica {
    if (!suffix.matches("(-[1-9])?")) {
      throw new IllegalArgumentException(
          "replica: expected nothing, or -1 to -9, got \"%s\"".formatted(suffix));
    }
  }

  /** The queue that answers to its requests come to. */
  String queue() {
    return Names.RESPONSE_QUEUE + suffix;
  }

  /** The key under which answers are sent to that queue. */
  String key() {
    return Names.TO_BROKER + suffix;
  }

  /** A correlation id that cannot be guessed. */
  UUID newId() {
    UUID drawn = UUID.randomUUID();
    if (suffix.isEmpty()) {
      return drawn;
    }
    long number = Character.digit(suffix.charAt(1), 10);
    long others = drawn.getMostSignificantBits() & (1L << DIGIT_AT) - 1;
    return new UUID(number << DIGIT_AT | others, drawn.getLeastSignificantBits());
  }
}
