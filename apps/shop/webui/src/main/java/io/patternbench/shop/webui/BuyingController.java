package io.patternbench.shop.webui;

import io.patternbench.shop.commons.web.PersistenceClient;
import io.patternbench.shop.commons.wire.OrderItem;
import io.patternbench.shop.commons.wire.Session;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import org.springframework.stereotype.Controller;
import org.springframework.ui.Model;
import org.springframework.util.MultiValueMap;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestParam;

/** The cart, and what is bought of it. */
@Controller
class BuyingController {
  private static final String TO_CART = "redirect:/cart";

  private final Shop shop;
  private final Frame frame;
  private final AuthClient auth;
  private final PersistenceClient persistence;
  private final SessionCookie cookie;

  BuyingController(
      Shop shop,
      Frame frame,
      AuthClient auth,
      PersistenceClient persistence,
      SessionCookie cookie) {
    this.shop = shop;
    this.frame = frame;
    this.auth = auth;
    this.persistence = persistence;
    this.cookie = cookie;
  }

  @GetMapping("/cart")
  String cart(Model model, HttpServletRequest request) {
    Session session = shop.known(cookie.read(request));
    frame.around(model, session);
    model.addAttribute("lines", shop.lines(session));
    long total = session.orderItems().stream().mapToLong(OrderItem::priceInCents).sum();
    model.addAttribute("total", Shown.price(total));
    model.addAttribute("advice", shop.advice(session, session.orderItems()));
    return "cart";
  }

  @PostMapping("/cart/add")
  String add(@RequestParam long id, HttpServletRequest request, HttpServletResponse response) {
    cookie.write(auth.add(id, cookie.read(request)), response);
    return TO_CART;
  }

  @PostMapping("/cart/remove")
  String remove(@RequestParam long id, HttpServletRequest request, HttpServletResponse response) {
    cookie.write(auth.remove(id, cookie.read(request)), response);
    return TO_CART;
  }

  @PostMapping("/cart/change")
  String change(
      @RequestParam long id,
      @RequestParam int quantity,
      HttpServletRequest request,
      HttpServletResponse response) {
    cookie.write(auth.change(id, quantity, cookie.read(request)), response);
    return TO_CART;
  }

  @PostMapping("/order")
  String order(
      @RequestParam MultiValueMap<String, String> bill,
      HttpServletRequest request,
      HttpServletResponse response) {
    cookie.write(auth.placeOrder(bill, cookie.read(request)), response);
    return "redirect:/profile";
  }

  @GetMapping("/profile")
  String profile(Model model, HttpServletRequest request) {
    Session session = shop.known(cookie.read(request));
    if (session.uid() == null) {
      return "redirect:/login";
    }
    frame.around(model, session);
    model.addAttribute("user", persistence.user(session.uid()));
    model.addAttribute(
        "orders", persistence.ordersOf(session.uid()).stream().map(Bought::new).toList());
    return "profile";
  }
}
