package io.patternbench.shop.commons.web;

import io.patternbench.shop.commons.wire.Bundle;
import io.patternbench.shop.commons.wire.Category;
import io.patternbench.shop.commons.wire.Order;
import io.patternbench.shop.commons.wire.OrderItem;
import io.patternbench.shop.commons.wire.Product;
import io.patternbench.shop.commons.wire.User;
import java.util.List;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.service.annotation.GetExchange;
import org.springframework.web.service.annotation.PostExchange;

/** What services ask of persistence. */
public interface PersistenceClient {
  String SERVICE = "persistence";

  @GetExchange("/categories?start=-1&max=-1")
  List<Category> categories();

  @GetExchange("/categories/{id}")
  Category category(@PathVariable long id);

  @GetExchange("/products/{id}")
  Product product(@PathVariable long id);

  @GetExchange("/products")
  Bundle<Product> products(@RequestParam String ids);

  @GetExchange("/products/count/{category}")
  int countOfProducts(@PathVariable long category);

  @GetExchange("/products/category/{category}")
  List<Product> productsOf(
      @PathVariable long category, @RequestParam int start, @RequestParam int max);

  @GetExchange("/users/{id}")
  User user(@PathVariable long id);

  @GetExchange("/users/name/{name}")
  User userNamed(@PathVariable String name);

  @GetExchange("/orders?start=-1&max=-1")
  List<Order> orders();

  @GetExchange("/orders/user/{user}")
  List<Order> ordersOf(@PathVariable long user);

  @GetExchange("/orderitems?start=-1&max=-1")
  List<OrderItem> orderItems();

  @PostExchange("/orders")
  long place(@RequestBody Order order);
}
