package io.patternbench.shop.auth;

import io.patternbench.apps.commons.Problems;
import io.patternbench.shop.commons.wire.OrderItem;
import io.patternbench.shop.commons.wire.Product;
import java.util.ArrayList;
import java.util.List;

/** What a visitor wants to buy. */
final class Cart {
  /** A browser keeps the session in a cookie of at most 4096 bytes (RFC 6265, section 6.1). */
  static final int MOST_PRODUCTS = 20;

  static final int MOST_OF_ONE = 1000;

  private Cart() {}

  /** A cart with one more of a product, at the price that it has now. */
  static List<OrderItem> add(List<OrderItem> items, Product product) {
    int before =
        items.stream()
            .filter(i -> i.productId() == product.id())
            .mapToInt(OrderItem::quantity)
            .sum();
    if (before == 0 && items.size() == MOST_PRODUCTS) {
      throw Problems.badRequest("a cart holds at most %d products".formatted(MOST_PRODUCTS));
    }
    List<OrderItem> changed = new ArrayList<>(without(items, product.id()));
    changed.add(OrderItem.inCart(product.id(), checked(before + 1), product.listPriceInCents()));
    return changed;
  }

  static List<OrderItem> without(List<OrderItem> items, long product) {
    return items.stream().filter(item -> item.productId() != product).toList();
  }

  /** A cart with another quantity of a product that is in it. */
  static List<OrderItem> change(List<OrderItem> items, long product, int quantity) {
    if (items.stream().noneMatch(item -> item.productId() == product)) {
      throw Problems.notFound("product in this cart:", product);
    }
    return items.stream()
        .map(item -> item.productId() == product ? item.times(checked(quantity)) : item)
        .toList();
  }

  static long priceInCents(List<OrderItem> items) {
    return items.stream().mapToLong(OrderItem::priceInCents).sum();
  }

  private static int checked(int quantity) {
    if (quantity < 1 || quantity > MOST_OF_ONE) {
      throw Problems.badRequest(
          "of a product a cart holds 1 to %d, not %d".formatted(MOST_OF_ONE, quantity));
    }
    return quantity;
  }
}
