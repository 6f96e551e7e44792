package io.patternbench.insurance.selfservice;

import jakarta.validation.constraints.NotNull;
import java.time.Duration;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.validation.annotation.Validated;

/**
 * How quote requests reach policy-management.
 *
 * @param confirmWithin how long the broker may take to confirm that it has a message
 */
@Validated
@ConfigurationProperties("insurance.quotes")
record QuoteProperties(@NotNull Channel channel, @NotNull Duration confirmWithin) {
  enum Channel {
    MESSAGE,
    HTTP
  }
}
