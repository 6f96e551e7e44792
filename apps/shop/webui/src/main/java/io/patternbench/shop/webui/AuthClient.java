package io.patternbench.shop.webui;

import io.patternbench.shop.commons.wire.Session;
import org.springframework.lang.Nullable;
import org.springframework.util.MultiValueMap;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.service.annotation.PostExchange;
import org.springframework.web.service.annotation.PutExchange;

/** What pages ask of auth. */
interface AuthClient {
  @PostExchange("/useractions/login")
  Session login(
      @RequestParam String name, @RequestParam String password, @RequestBody Session session);

  /** The session of a signed-in user; null for anybody else. */
  @Nullable
  @PostExchange("/useractions/isloggedin")
  Session isLoggedIn(@RequestBody Session session);

  @PostExchange("/useractions/placeorder")
  Session placeOrder(
      @RequestParam MultiValueMap<String, String> bill, @RequestBody Session session);

  @PostExchange("/cart/add/{product}")
  Session add(@PathVariable long product, @RequestBody Session session);

  @PostExchange("/cart/remove/{product}")
  Session remove(@PathVariable long product, @RequestBody Session session);

  @PutExchange("/cart/{product}")
  Session change(
      @PathVariable long product, @RequestParam int quantity, @RequestBody Session session);
}
