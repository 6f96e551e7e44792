package io.patternbench.shop.auth;

import io.patternbench.apps.commons.Problems;
import io.patternbench.shop.commons.web.PersistenceClient;
import io.patternbench.shop.commons.wire.Order;
import io.patternbench.shop.commons.wire.Session;
import io.patternbench.shop.commons.wire.User;
import jakarta.validation.Valid;
import jakarta.validation.constraints.NotBlank;
import jakarta.validation.constraints.NotNull;
import java.util.List;
import org.springframework.security.crypto.bcrypt.BCryptPasswordEncoder;
import org.springframework.web.ErrorResponseException;
import org.springframework.web.bind.annotation.ModelAttribute;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.client.HttpClientErrorException;

/** Signing in and out, and buying what is in the cart. */
@RestController
@RequestMapping("/useractions")
class UserActionsController {
  private final Sessions sessions;
  private final PersistenceClient persistence;
  private final BCryptPasswordEncoder passwords = new BCryptPasswordEncoder();

  UserActionsController(Sessions sessions, PersistenceClient persistence) {
    this.sessions = sessions;
    this.persistence = persistence;
  }

  @PostMapping("/login")
  Session login(
      @RequestParam String name,
      @RequestParam String password,
      @RequestBody(required = false) Session sent) {
    Session before = sessions.checked(sent);
    User user = user(name);
    if (!passwords.matches(password, user.password())) {
      throw wrong();
    }
    return sessions.signedIn(user.id(), before);
  }

  private User user(String name) {
    try {
      return persistence.userNamed(name);
    } catch (HttpClientErrorException.NotFound e) {
      throw wrong();
    }
  }

  private static ErrorResponseException wrong() {
    return Problems.unauthorized("name or password is wrong");
  }

  @PostMapping("/logout")
  Session logout() {
    return Session.EMPTY;
  }

  /** The session of a signed-in user; null for anybody else. */
  @PostMapping("/isloggedin")
  Session isLoggedIn(@RequestBody(required = false) Session sent) {
    try {
      Session session = sessions.checked(sent);
      return session.uid() == null ? null : session;
    } catch (ErrorResponseException notSigned) {
      return null;
    }
  }

  /** Where to send it, and who pays. */
  record Bill(
      @NotBlank String addressName,
      @NotBlank String address1,
      @NotNull String address2,
      @NotBlank String creditCardCompany,
      @NotBlank String creditCardNumber,
      @NotBlank String creditCardExpiryDate) {}

  /** Buys what is in the cart at the prices in it; what a caller says of the total is not heard. */
  @PostMapping("/placeorder")
  Session placeOrder(
      @Valid @ModelAttribute Bill bill, @RequestBody(required = false) Session sent) {
    Session session = sessions.checked(sent);
    if (session.uid() == null) {
      throw Problems.unauthorized("sign in to buy");
    }
    if (session.orderItems().isEmpty()) {
      throw Problems.badRequest("there is nothing in the cart");
    }
    persistence.place(order(bill, session));
    return sessions.with(List.of(), session);
  }

  private static Order order(Bill bill, Session session) {
    return new Order(
        0,
        session.uid(),
        null,
        Cart.priceInCents(session.orderItems()),
        bill.addressName(),
        bill.address1(),
        bill.address2(),
        bill.creditCardCompany(),
        bill.creditCardNumber(),
        bill.creditCardExpiryDate(),
        session.orderItems());
  }
}
