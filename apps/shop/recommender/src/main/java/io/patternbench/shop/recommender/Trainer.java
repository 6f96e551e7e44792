package io.patternbench.shop.recommender;

import io.patternbench.apps.commons.Problems;
import io.patternbench.shop.commons.web.PersistenceClient;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.boot.actuate.health.Health;
import org.springframework.boot.actuate.health.HealthIndicator;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.stereotype.Component;
import org.springframework.web.client.RestClientException;

/** Learns from all orders when the service begins, and tries again until persistence answers. */
@Component("training")
class Trainer implements HealthIndicator {
  private static final Logger LOG = LoggerFactory.getLogger(Trainer.class);

  private final PersistenceClient persistence;
  private volatile Trained trained;

  Trainer(PersistenceClient persistence) {
    this.persistence = persistence;
  }

  @Scheduled(fixedDelay = 1, timeUnit = TimeUnit.SECONDS)
  void begin() {
    if (trained == null) {
      try {
        train();
      } catch (RestClientException e) {
        LOG.warn("nothing is learnt yet: {}", e.getMessage());
      }
    }
  }

  /** Learns anew from the orders that there are now. */
  void train() {
    trained = new Trained(Purchases.of(persistence.orders(), persistence.orderItems()));
  }

  /** What was learnt; raises 503 while that is nothing. */
  Trained trained() {
    if (trained == null) {
      throw Problems.unavailable("the orders to learn from are not here yet", null);
    }
    return trained;
  }

  @Override
  public Health health() {
    return trained == null ? Health.outOfService().build() : Health.up().build();
  }
}
