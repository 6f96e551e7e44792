package io.patternbench.overload.items;

import java.time.Duration;
import org.springframework.boot.actuate.endpoint.InvalidEndpointRequestException;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.annotation.WriteOperation;
import org.springframework.stereotype.Component;

/**
 * {@code POST /actuator/options} changes all options at once, and fills the cache as they ask for.
 */
@Component
@Endpoint(id = "options")
class OptionSettings {
  private final LiveOptions options;
  private final Warmth warmth;

  OptionSettings(LiveOptions options, Warmth warmth) {
    this.options = options;
    this.warmth = warmth;
  }

  @ReadOperation
  Options read() {
    return options.now();
  }

  @WriteOperation
  Options change(
      boolean singleFlight, String waiting, Duration timeout, Duration ttl, int lookups) {
    try {
      int bound = Options.bound(waiting);
      options.change(new Options(singleFlight, bound, timeout, ttl, lookups));
    } catch (IllegalArgumentException e) {
      throw new InvalidEndpointRequestException(e.getMessage(), e.getMessage(), e);
    }
    warmth.fill();
    return read();
  }
}
