package io.patternbench.shop.recommender;

import io.patternbench.shop.commons.wire.OrderItem;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/** What was learnt from the orders that there were, by every algorithm. */
final class Trained {
  static final int MOST = 10;

  private final Purchases purchases;
  private final Map<Algorithm, Scores> scores = new EnumMap<>(Algorithm.class);

  Trained(Purchases purchases) {
    this.purchases = purchases;
    for (Algorithm algorithm : Algorithm.values()) {
      scores.put(algorithm, algorithm.trained(purchases));
    }
  }

  /**
   * Up to ten products that are not in the cart, the best first. Where an algorithm knows of fewer,
   * the most popular ones follow; of equals, the one with the lower id comes first.
   */
  List<Long> recommended(Algorithm algorithm, Long user, List<OrderItem> cart) {
    Map<Long, Integer> wanted = new HashMap<>(purchases.of(user));
    cart.forEach(item -> wanted.merge(item.productId(), item.quantity(), Integer::sum));
    List<Long> inCart = cart.stream().map(OrderItem::productId).toList();
    return Stream.of(algorithm, Algorithm.POPULARITY)
        .flatMap(one -> best(scores.get(one).forWhoeverWants(wanted)))
        .distinct()
        .filter(product -> !inCart.contains(product))
        .limit(MOST)
        .toList();
  }

  private static Stream<Long> best(Map<Long, Double> scores) {
    return scores.entrySet().stream()
        .sorted(
            Map.Entry.<Long, Double>comparingByValue(Comparator.reverseOrder())
                .thenComparing(Map.Entry.comparingByKey()))
        .map(Map.Entry::getKey);
  }
}
