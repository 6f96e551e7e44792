package io.patternbench.cinema.messages;

import com.fasterxml.jackson.annotation.JsonProperty;

/** When a message counts as sent: once RabbitMQ has confirmed it, or as soon as it is written. */
public enum Publish {
  @JsonProperty("confirmed")
  CONFIRMED,
  @JsonProperty("unconfirmed")
  UNCONFIRMED
}
