package io.patternbench.cinema.cinema;

import java.time.Duration;
import org.springframework.boot.actuate.endpoint.InvalidEndpointRequestException;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.annotation.WriteOperation;
import org.springframework.stereotype.Component;

/** How slow this cinema is; read and changed at {@code /actuator/delay}, while it runs. */
@Component
@Endpoint(id = "delay")
class DelaySettings {
  private static final Duration MOST = Duration.ofMinutes(1);

  record Level(Duration delay) {}

  private volatile Level level;

  DelaySettings(CinemaProperties properties) {
    change(properties.delay());
  }

  @ReadOperation
  public Level level() {
    return level;
  }

  @WriteOperation
  public final Level change(Duration delay) {
    if (delay.isNegative() || delay.compareTo(MOST) > 0) {
      String reason = "delay: expected 0ms to 60s, got " + delay;
      throw new InvalidEndpointRequestException(reason, reason);
    }
    level = new Level(delay);
    return level;
  }

  /** Lets the delay pass. */
  void pass() {
    Sleep.of(level.delay());
  }
}
