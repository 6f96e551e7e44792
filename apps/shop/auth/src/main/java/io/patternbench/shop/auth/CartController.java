package io.patternbench.shop.auth;

import io.patternbench.shop.commons.web.PersistenceClient;
import io.patternbench.shop.commons.wire.OrderItem;
import io.patternbench.shop.commons.wire.Session;
import java.util.List;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.PutMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;

/** Fills the carts of sessions, which their visitors keep. */
@RestController
@RequestMapping("/cart")
class CartController {
  private final Sessions sessions;
  private final PersistenceClient persistence;

  CartController(Sessions sessions, PersistenceClient persistence) {
    this.sessions = sessions;
    this.persistence = persistence;
  }

  @PostMapping("/add/{product}")
  Session add(@PathVariable long product, @RequestBody(required = false) Session sent) {
    Session session = sessions.checked(sent);
    List<OrderItem> items = Cart.add(session.orderItems(), persistence.product(product));
    return sessions.with(items, session);
  }

  @PostMapping("/remove/{product}")
  Session remove(@PathVariable long product, @RequestBody(required = false) Session sent) {
    Session session = sessions.checked(sent);
    return sessions.with(Cart.without(session.orderItems(), product), session);
  }

  @PutMapping("/{product}")
  Session change(
      @PathVariable long product,
      @RequestParam int quantity,
      @RequestBody(required = false) Session sent) {
    Session session = sessions.checked(sent);
    return sessions.with(Cart.change(session.orderItems(), product, quantity), session);
  }
}
