package io.patternbench.shop.persistence;

import java.util.Map;
import org.springframework.boot.actuate.endpoint.annotation.DeleteOperation;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.stereotype.Component;

/**
 * {@code DELETE /actuator/orders} removes what was bought, so that a round begins as every other.
 */
@Component
@Endpoint(id = "orders")
class PlacedOrders {
  private final Orders orders;

  PlacedOrders(Orders orders) {
    this.orders = orders;
  }

  @DeleteOperation
  Map<String, Integer> forget() {
    return Map.of("removed", orders.forgetPlaced());
  }
}
