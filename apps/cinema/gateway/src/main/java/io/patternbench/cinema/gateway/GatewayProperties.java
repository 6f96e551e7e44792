package io.patternbench.cinema.gateway;

import jakarta.validation.constraints.NotEmpty;
import jakarta.validation.constraints.NotNull;
import java.util.List;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.validation.annotation.Validated;

/**
 * Where requests may go.
 *
 * @param cinemas each of which has a route
 * @param breaker of each route, at the start
 * @param options what the gateway takes over, at the start
 */
@Validated
@ConfigurationProperties("gateway")
record GatewayProperties(
    @NotEmpty List<String> cinemas,
    @NotNull BreakerLevels breaker,
    @NotNull OptionLevels options) {}
