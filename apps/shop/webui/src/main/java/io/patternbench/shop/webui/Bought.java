package io.patternbench.shop.webui;

import io.patternbench.shop.commons.wire.Order;
import java.time.format.DateTimeFormatter;

/** An order as a page shows it. */
record Bought(Order order) {
  private static final DateTimeFormatter TO_THE_MINUTE =
      DateTimeFormatter.ofPattern("yyyy-MM-dd HH:mm");

  /** Public, as templates ask for it. */
  public String when() {
    return TO_THE_MINUTE.format(order.time());
  }

  public String to() {
    return order.addressName() + ", " + order.address1();
  }

  public String price() {
    return Shown.price(order.totalPriceInCents());
  }
}
