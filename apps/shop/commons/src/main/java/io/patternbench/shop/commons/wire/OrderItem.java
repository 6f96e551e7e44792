package io.patternbench.shop.commons.wire;

/**
 * A product in a cart or an order.
 *
 * @param id 0 in a cart
 * @param orderId 0 in a cart
 */
public record OrderItem(
    long id, long productId, long orderId, int quantity, long unitPriceInCents) {
  /** A quantity of a product in a cart. */
  public static OrderItem inCart(long productId, int quantity, long unitPriceInCents) {
    return new OrderItem(0, productId, 0, quantity, unitPriceInCents);
  }

  public OrderItem times(int newQuantity) {
    return new OrderItem(id, productId, orderId, newQuantity, unitPriceInCents);
  }

  public long priceInCents() {
    return quantity * unitPriceInCents;
  }
}
