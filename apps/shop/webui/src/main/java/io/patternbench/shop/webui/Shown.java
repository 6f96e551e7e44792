package io.patternbench.shop.webui;

import io.patternbench.shop.commons.wire.Product;
import java.util.Locale;

/**
 * A product as a page shows it.
 *
 * @param picture null where there is none now
 */
record Shown(Product product, String picture) {
  /** Public, as templates ask for it. */
  public String price() {
    return price(product.listPriceInCents());
  }

  static String price(long cents) {
    return String.format(Locale.ROOT, "%d.%02d €", cents / 100, cents % 100);
  }
}
