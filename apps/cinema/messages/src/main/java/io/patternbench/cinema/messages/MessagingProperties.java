package io.patternbench.cinema.messages;

import jakarta.validation.constraints.NotEmpty;
import jakarta.validation.constraints.NotNull;
import java.time.Duration;
import java.util.List;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.validation.annotation.Validated;

/**
 * How messages are sent.
 *
 * @param cinemas whose queues there are to be
 * @param confirmWithin how long RabbitMQ may take to confirm that it has a message
 */
@Validated
@ConfigurationProperties("cinema.messaging")
public record MessagingProperties(
    @NotEmpty List<String> cinemas, @NotNull Publish publish, @NotNull Duration confirmWithin) {}
