package io.patternbench.overload.items;

import com.zaxxer.hikari.HikariDataSource;
import java.time.Duration;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.stereotype.Component;

/** The options as they are now, at first those of the environment. */
@Component
class LiveOptions {
  private final HikariDataSource pool;
  private volatile Options now;

  LiveOptions(
      HikariDataSource pool,
      @Value("${items.single-flight}") boolean singleFlight,
      @Value("${items.waiting}") String waiting,
      @Value("${items.timeout}") Duration timeout,
      @Value("${items.ttl}") Duration ttl,
      @Value("${items.lookups}") int lookups) {
    this.pool = pool;
    change(new Options(singleFlight, Options.bound(waiting), timeout, ttl, lookups));
  }

  Options now() {
    return now;
  }

  final void change(Options options) {
    pool.setConnectionTimeout(options.timeout().toMillis());
    now = options;
  }
}
