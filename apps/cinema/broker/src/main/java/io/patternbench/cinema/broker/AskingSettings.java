package io.patternbench.cinema.broker;

import com.fasterxml.jackson.annotation.JsonProperty;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.annotation.WriteOperation;
import org.springframework.stereotype.Component;

/** How a question to all cinemas is sent; read and changed at {@code /actuator/asking}. */
@Component
@Endpoint(id = "asking")
class AskingSettings {
  enum Distribution {
    /** Published once; RabbitMQ gives it to every queue that subscribed to it. As published. */
    @JsonProperty("publish")
    PUBLISH,
    /** Sent to the queue of each cinema. */
    @JsonProperty("each")
    EACH
  }

  record Level(Distribution distribution) {}

  private volatile Level level = new Level(Distribution.PUBLISH);

  @ReadOperation
  public Level level() {
    return level;
  }

  @WriteOperation
  public Level change(Distribution distribution) {
    level = new Level(distribution);
    return level;
  }
}
