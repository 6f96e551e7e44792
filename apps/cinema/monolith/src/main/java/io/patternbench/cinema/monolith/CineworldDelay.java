package io.patternbench.cinema.monolith;

import java.time.Duration;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.WriteOperation;
import org.springframework.stereotype.Component;

/**
 * How slow Cineworld is; changed at {@code /actuator/delay}, while it runs, as that cinema's own.
 */
@Component
@Endpoint(id = "delay")
class CineworldDelay {
  record Level(Duration delay) {}

  private static final String SLOW = "cineworld";

  private final Cinemas cinemas;

  CineworldDelay(Cinemas cinemas) {
    this.cinemas = cinemas;
  }

  @WriteOperation
  public Level change(Duration delay) {
    return new Level(cinemas.of(SLOW).slowDown(delay));
  }
}
