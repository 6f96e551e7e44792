package io.patternbench.shop.webui;

import io.patternbench.shop.commons.web.PersistenceClient;
import io.patternbench.shop.commons.wire.Category;
import io.patternbench.shop.commons.wire.OrderItem;
import io.patternbench.shop.commons.wire.Session;
import java.util.List;
import org.springframework.stereotype.Component;
import org.springframework.ui.Model;

/** What is around every page: the categories, who is signed in, how much is in the cart. */
@Component
class Frame {
  private final Shop shop;
  private final PersistenceClient persistence;

  Frame(Shop shop, PersistenceClient persistence) {
    this.shop = shop;
    this.persistence = persistence;
  }

  void around(Model model, Session session) {
    List<Category> categories = persistence.categories();
    model.addAttribute("categories", categories);
    model.addAttribute("icon", shop.icon());
    model.addAttribute("signedIn", session.uid() != null);
    model.addAttribute("inCart", session.orderItems().stream().mapToInt(OrderItem::quantity).sum());
  }
}
