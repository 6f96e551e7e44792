package io.patternbench.shop.recommender;

import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Weighted Slope One (Lemire and Maclachlan, 2005, "Slope one predictors for online rating-based
 * collaborative filtering", equation of section 3.2), with quantities in place of ratings.
 *
 * <p>The deviation of product j from i is the mean, over those who have bought both, of how many
 * more they have bought of j. The prediction for j is the mean of deviation and own quantity over
 * all i that somebody has, each weighted by how many have bought both.
 */
final class SlopeOne implements Scores {
  private final Map<Long, Integer> places = new HashMap<>();
  private final List<Long> products;
  private final int[][] together;
  private final double[][] more;

  SlopeOne(Purchases purchases) {
    products = purchases.byProduct().keySet().stream().sorted().toList();
    products.forEach(product -> places.put(product, places.size()));
    together = new int[products.size()][products.size()];
    more = new double[products.size()][products.size()];
    learn(purchases.baskets());
  }

  private void learn(Collection<Map<Long, Integer>> baskets) {
    for (Map<Long, Integer> basket : baskets) {
      basket.forEach((product, n) -> basket.forEach((than, m) -> learn(product, n, than, m)));
    }
  }

  private void learn(long product, int quantity, long than, int otherQuantity) {
    int j = places.get(product);
    int i = places.get(than);
    together[j][i]++;
    more[j][i] += quantity - otherQuantity;
  }

  /** Products that nobody has bought together with one of these have no prediction. */
  @Override
  public Map<Long, Double> forWhoeverWants(Map<Long, Integer> wanted) {
    Map<Long, Double> predictions = new HashMap<>();
    for (int j = 0; j < products.size(); j++) {
      double prediction = prediction(j, wanted);
      if (!Double.isNaN(prediction)) {
        predictions.put(products.get(j), prediction);
      }
    }
    return predictions;
  }

  private double prediction(int j, Map<Long, Integer> wanted) {
    double sum = 0;
    int weights = 0;
    for (Map.Entry<Long, Integer> own : wanted.entrySet()) {
      Integer i = places.get(own.getKey());
      if (i != null && i != j) {
        sum += more[j][i] + own.getValue() * together[j][i];
        weights += together[j][i];
      }
    }
    return weights == 0 ? Double.NaN : sum / weights;
  }
}
