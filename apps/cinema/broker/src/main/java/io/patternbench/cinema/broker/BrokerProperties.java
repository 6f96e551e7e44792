package io.patternbench.cinema.broker;

import jakarta.validation.constraints.NotNull;
import java.time.Duration;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.util.unit.DataSize;
import org.springframework.validation.annotation.Validated;

/**
 * How answers are kept and fetched.
 *
 * @param cacheSize the most memory of all open requests and their answers
 */
@Validated
@ConfigurationProperties("broker")
record BrokerProperties(
    @NotNull DataSize cacheSize,
    @NotNull Levels.Fetch fetch,
    @NotNull Duration holdFor,
    @NotNull Levels.Eviction eviction,
    @NotNull Duration keep) {
  Levels levels() {
    return new Levels(fetch, holdFor, eviction, keep);
  }
}
