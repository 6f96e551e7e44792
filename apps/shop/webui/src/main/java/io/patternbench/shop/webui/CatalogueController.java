package io.patternbench.shop.webui;

import io.patternbench.shop.commons.web.PersistenceClient;
import io.patternbench.shop.commons.wire.OrderItem;
import io.patternbench.shop.commons.wire.Product;
import io.patternbench.shop.commons.wire.Session;
import jakarta.servlet.http.HttpServletRequest;
import java.util.ArrayList;
import java.util.List;
import org.springframework.stereotype.Controller;
import org.springframework.ui.Model;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RequestParam;

/** Pages to look around. */
@Controller
class CatalogueController {
  static final int PER_PAGE = 20;

  private final Shop shop;
  private final Frame frame;
  private final PersistenceClient persistence;
  private final SessionCookie cookie;

  CatalogueController(Shop shop, Frame frame, PersistenceClient persistence, SessionCookie cookie) {
    this.shop = shop;
    this.frame = frame;
    this.persistence = persistence;
    this.cookie = cookie;
  }

  @GetMapping("/")
  String home(Model model, HttpServletRequest request) {
    Session session = shop.known(cookie.read(request));
    frame.around(model, session);
    model.addAttribute("advice", shop.advice(session, session.orderItems()));
    return "home";
  }

  @GetMapping("/category")
  String category(
      @RequestParam long id,
      @RequestParam(defaultValue = "1") int page,
      Model model,
      HttpServletRequest request) {
    frame.around(model, shop.known(cookie.read(request)));
    model.addAttribute("category", persistence.category(id));
    int pages = pages(persistence.countOfProducts(id));
    int shownPage = Math.min(Math.max(page, 1), pages);
    List<Product> products = persistence.productsOf(id, (shownPage - 1) * PER_PAGE, PER_PAGE);
    model.addAttribute("page", shownPage);
    model.addAttribute("pages", pages);
    model.addAttribute("products", shop.shown(products, "125x125"));
    return "category";
  }

  private static int pages(int products) {
    return Math.max(1, (products + PER_PAGE - 1) / PER_PAGE);
  }

  @GetMapping("/product")
  String product(@RequestParam long id, Model model, HttpServletRequest request) {
    Session session = shop.known(cookie.read(request));
    frame.around(model, session);
    Product product = persistence.product(id);
    model.addAttribute("shown", shop.shown(List.of(product), "300x300").get(0));
    List<OrderItem> seen = new ArrayList<>(session.orderItems());
    seen.add(OrderItem.inCart(id, 1, product.listPriceInCents()));
    model.addAttribute("advice", shop.advice(session, seen));
    return "product";
  }
}
