package io.patternbench.shop.persistence;

import io.patternbench.shop.commons.wire.Order;
import io.patternbench.shop.commons.wire.OrderItem;
import java.util.List;
import org.springframework.http.HttpStatus;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.ResponseStatus;
import org.springframework.web.bind.annotation.RestController;

@RestController
class OrderController {
  private static final String ALL = "-1";

  private final Orders orders;

  OrderController(Orders orders) {
    this.orders = orders;
  }

  @GetMapping("/orders")
  List<Order> orders(
      @RequestParam(defaultValue = ALL) int start, @RequestParam(defaultValue = ALL) int max) {
    return orders.orders(new Page(start, max));
  }

  @GetMapping("/orders/user/{user}")
  List<Order> ordersOf(@PathVariable long user) {
    return orders.ordersOf(user);
  }

  @PostMapping("/orders")
  @ResponseStatus(HttpStatus.CREATED)
  long place(@RequestBody Order order) {
    return orders.place(order);
  }

  @GetMapping("/orderitems")
  List<OrderItem> items(
      @RequestParam(defaultValue = ALL) int start, @RequestParam(defaultValue = ALL) int max) {
    return orders.items(new Page(start, max));
  }

  @GetMapping("/orderitems/order/{order}")
  List<OrderItem> itemsOf(@PathVariable long order) {
    return orders.itemsOf(order);
  }
}
