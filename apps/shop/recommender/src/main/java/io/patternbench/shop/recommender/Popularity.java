package io.patternbench.shop.recommender;

import java.util.HashMap;
import java.util.Map;

/** How many of a product were sold. */
final class Popularity implements Scores {
  private final Map<Long, Double> sold = new HashMap<>();

  Popularity(Purchases purchases) {
    purchases.byProduct().forEach((product, quantity) -> sold.put(product, (double) quantity));
  }

  @Override
  public Map<Long, Double> forWhoeverWants(Map<Long, Integer> wanted) {
    return sold;
  }
}
