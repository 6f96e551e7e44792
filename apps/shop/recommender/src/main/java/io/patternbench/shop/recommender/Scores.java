package io.patternbench.shop.recommender;

import java.util.Map;

/** What an algorithm has learnt. */
@FunctionalInterface
interface Scores {
  /**
   * How much somebody is likely to want each product, the more the higher.
   *
   * @param wanted how many of each product he has bought or put into his cart
   */
  Map<Long, Double> forWhoeverWants(Map<Long, Integer> wanted);
}
