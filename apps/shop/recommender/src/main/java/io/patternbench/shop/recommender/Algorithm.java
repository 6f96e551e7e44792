package io.patternbench.shop.recommender;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.function.Function;

/** How a recommendation is made. */
enum Algorithm {
  /** What most have bought, the same for every cart. */
  @JsonProperty("popularity")
  POPULARITY(Popularity::new),
  /** What those buy more of who have bought the same. */
  @JsonProperty("slope_one")
  SLOPE_ONE(SlopeOne::new);

  private final Function<Purchases, Scores> training;

  Algorithm(Function<Purchases, Scores> training) {
    this.training = training;
  }

  Scores trained(Purchases purchases) {
    return training.apply(purchases);
  }
}
