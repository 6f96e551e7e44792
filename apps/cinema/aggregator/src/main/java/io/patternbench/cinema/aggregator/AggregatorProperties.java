package io.patternbench.cinema.aggregator;

import io.patternbench.cinema.commons.Calls;
import io.patternbench.cinema.commons.Missing;
import jakarta.validation.constraints.Min;
import jakarta.validation.constraints.NotEmpty;
import jakarta.validation.constraints.NotNull;
import java.time.Duration;
import java.util.List;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.validation.annotation.Validated;

/**
 * How the aggregator calls cinemas.
 *
 * @param gateway its address, for calls through it
 * @param cinemas that have to be registered before the aggregator says that it has all of them
 * @param poolSize connections per address, where they are pooled
 */
@Validated
@ConfigurationProperties("aggregator")
record AggregatorProperties(
    @NotEmpty String gateway,
    @NotEmpty List<String> cinemas,
    @NotNull Duration connectTimeout,
    @NotNull Duration readTimeout,
    @Min(1) int poolSize,
    @NotNull Calls calls,
    @NotNull Levels.Via via,
    @NotNull Levels.Connections connections,
    @NotNull Missing missing) {
  Levels levels() {
    return new Levels(calls, via, connections, missing);
  }
}
