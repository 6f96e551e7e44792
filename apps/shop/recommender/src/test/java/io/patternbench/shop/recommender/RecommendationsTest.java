package io.patternbench.shop.recommender;

import static org.assertj.core.api.Assertions.assertThat;

import io.patternbench.shop.commons.wire.Order;
import io.patternbench.shop.commons.wire.OrderItem;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class RecommendationsTest {
  /** Users 1 and 2 have bought 10 and 20; 3 has bought 30 alone, and most of all. */
  private static final Purchases FEW =
      purchases(Map.of(10L, 1, 20L, 3), Map.of(10L, 2, 20L, 3), Map.of(30L, 9));

  @SafeVarargs
  private static Purchases purchases(Map<Long, Integer>... byUser) {
    return new Purchases(
        LongStream.rangeClosed(1, byUser.length)
            .boxed()
            .collect(Collectors.toMap(user -> user, user -> byUser[user.intValue() - 1])));
  }

  private static List<OrderItem> cart(long... products) {
    return LongStream.of(products).mapToObj(id -> OrderItem.inCart(id, 1, 100)).toList();
  }

  @Test
  void purchasesAreSummedOverTheOrdersOfAUser() {
    List<Order> orders = List.of(order(1, 7), order(2, 7), order(3, 8));
    List<OrderItem> items =
        List.of(item(1, 10, 2), item(2, 10, 1), item(2, 20, 1), item(3, 20, 5), item(9, 20, 5));
    assertThat(Purchases.of(orders, items).byUser())
        .isEqualTo(Map.of(7L, Map.of(10L, 3, 20L, 1), 8L, Map.of(20L, 5)));
  }

  private static Order order(long id, long user) {
    return new Order(id, user, null, 0, "", "", "", "", "", "", null);
  }

  private static OrderItem item(long order, long product, int quantity) {
    return new OrderItem(0, product, order, quantity, 1);
  }

  @Test
  void slopeOneAddsTheMeanDeviationToWhatSomebodyHas() {
    // Of 20 the two have bought (3 - 1 + 3 - 2) / 2 = 1.5 more than of 10.
    assertThat(new SlopeOne(FEW).forWhoeverWants(Map.of(10L, 4))).isEqualTo(Map.of(20L, 5.5));
  }

  @Test
  void slopeOneWeighsByHowManyHaveBoughtBoth() {
    Purchases bought =
        purchases(Map.of(1L, 1, 2L, 3), Map.of(1L, 1, 2L, 5, 3L, 1), Map.of(3L, 2, 2L, 1));
    // From 1 (two users): (2 + 4) / 2 = 3; from 3 (two users): (4 - 1) / 2 = 1.5.
    // With 1 of product 1 and 2 of product 3: (2 * (3 + 1) + 2 * (1.5 + 2)) / 4 = 3.75.
    assertThat(new SlopeOne(bought).forWhoeverWants(Map.of(1L, 1, 3L, 2)).get(2L)).isEqualTo(3.75);
  }

  @Test
  void popularityCountsWhatAllHaveBought() {
    assertThat(new Popularity(FEW).forWhoeverWants(Map.of()))
        .isEqualTo(Map.of(10L, 3.0, 20L, 6.0, 30L, 9.0));
  }

  @Test
  void whatIsInTheCartIsNotRecommended() {
    Trained trained = new Trained(FEW);
    assertThat(trained.recommended(Algorithm.SLOPE_ONE, null, cart(10))).containsExactly(20L, 30L);
    assertThat(trained.recommended(Algorithm.POPULARITY, null, cart(30))).containsExactly(20L, 10L);
  }

  @Test
  void whereAnAlgorithmKnowsNothingThePopularOnesCome() {
    assertThat(new Trained(FEW).recommended(Algorithm.SLOPE_ONE, 99L, cart(777)))
        .containsExactly(30L, 20L, 10L);
  }

  @Test
  void thereAreNoMoreThanTenAndEqualsComeByTheirIds() {
    Map<Long, Integer> twelve =
        LongStream.rangeClosed(1, 12)
            .boxed()
            .collect(Collectors.toMap(product -> product, product -> 1));
    Stream.of(Algorithm.values())
        .forEach(
            algorithm ->
                assertThat(new Trained(purchases(twelve)).recommended(algorithm, null, cart(3)))
                    .containsExactly(1L, 2L, 4L, 5L, 6L, 7L, 8L, 9L, 10L, 11L));
  }
}
