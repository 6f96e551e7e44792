package io.patternbench.cinema.monolith;

import jakarta.validation.constraints.Min;
import jakarta.validation.constraints.NotEmpty;
import jakarta.validation.constraints.NotNull;
import java.util.Map;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.validation.annotation.Validated;

/**
 * The cinemas of the monolith.
 *
 * @param databases of each cinema, by its name
 * @param pool the connections to each of them
 * @param timeoutMs how long a statement may take
 * @param listLimit the most reservations of a list
 */
@Validated
@ConfigurationProperties("monolith")
record MonolithProperties(
    @NotEmpty Map<String, Database> databases,
    @Min(1) int pool,
    @Min(1) int timeoutMs,
    @Min(1) int listLimit) {
  /** Where the database of a cinema is. */
  record Database(@NotNull String url, @NotNull String user, @NotNull String password) {}
}
