package io.patternbench.shop.recommender;

import io.patternbench.shop.commons.wire.Order;
import io.patternbench.shop.commons.wire.OrderItem;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * How many of each product every user has bought: what algorithms learn from.
 *
 * @param byUser for each user's id, how many by the product's id
 */
record Purchases(Map<Long, Map<Long, Integer>> byUser) {
  static Purchases of(List<Order> orders, List<OrderItem> items) {
    Map<Long, Long> buyers = orders.stream().collect(Collectors.toMap(Order::id, Order::userId));
    Map<Long, Map<Long, Integer>> byUser = new TreeMap<>();
    for (OrderItem item : items) {
      Long buyer = buyers.get(item.orderId());
      if (buyer != null) { // an order that came between the two lists
        byUser
            .computeIfAbsent(buyer, user -> new TreeMap<>())
            .merge(item.productId(), item.quantity(), Integer::sum);
      }
    }
    return new Purchases(byUser);
  }

  /** How many of each product were bought by all together. */
  Map<Long, Integer> byProduct() {
    Map<Long, Integer> sold = new HashMap<>();
    for (Map<Long, Integer> bought : byUser.values()) {
      bought.forEach((product, quantity) -> sold.merge(product, quantity, Integer::sum));
    }
    return sold;
  }

  Map<Long, Integer> of(Long user) {
    return user == null ? Map.of() : byUser.getOrDefault(user, Map.of());
  }

  Collection<Map<Long, Integer>> baskets() {
    return byUser.values();
  }
}
