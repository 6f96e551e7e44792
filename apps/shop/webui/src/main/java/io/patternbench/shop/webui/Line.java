package io.patternbench.shop.webui;

import io.patternbench.shop.commons.wire.OrderItem;
import io.patternbench.shop.commons.wire.Product;

/** A line of a cart. */
record Line(Product product, OrderItem item) {
  /** Public, as templates ask for it. */
  public String unitPrice() {
    return Shown.price(item.unitPriceInCents());
  }

  public String price() {
    return Shown.price(item.priceInCents());
  }
}
