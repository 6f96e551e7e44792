package io.patternbench.cinema.cinema;

import jakarta.validation.constraints.Min;
import jakarta.validation.constraints.NotNull;
import jakarta.validation.constraints.Pattern;
import java.time.Duration;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.core.io.Resource;
import org.springframework.validation.annotation.Validated;

/**
 * Which cinema this is.
 *
 * @param channel by which it is asked
 * @param movies a JSON list, written to the database at the start
 * @param listLimit the most reservations of a list
 * @param delay how much longer than it takes every request takes, at the start
 */
@Validated
@ConfigurationProperties("cinema")
record CinemaProperties(
    @NotNull @Pattern(regexp = "[a-z0-9]+") String name,
    @NotNull Channel channel,
    @NotNull Resource movies,
    @Min(1) int listLimit,
    @NotNull Duration delay) {
  enum Channel {
    HTTP,
    MESSAGE
  }
}
