package io.patternbench.shop.webui;

import io.patternbench.shop.commons.wire.Session;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import org.springframework.stereotype.Controller;
import org.springframework.ui.Model;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.client.HttpClientErrorException;

/** Signing in and out. */
@Controller
class SignInController {
  private final Frame frame;
  private final AuthClient auth;
  private final SessionCookie cookie;

  SignInController(Frame frame, AuthClient auth, SessionCookie cookie) {
    this.frame = frame;
    this.auth = auth;
    this.cookie = cookie;
  }

  @GetMapping("/login")
  String form(Model model, HttpServletRequest request) {
    frame.around(model, cookie.read(request));
    return "login";
  }

  @PostMapping("/login")
  String signIn(
      @RequestParam String name,
      @RequestParam String password,
      Model model,
      HttpServletRequest request,
      HttpServletResponse response) {
    try {
      cookie.write(auth.login(name, password, cookie.read(request)), response);
      return "redirect:/";
    } catch (HttpClientErrorException.Unauthorized e) {
      response.setStatus(HttpServletResponse.SC_UNAUTHORIZED);
      model.addAttribute("wrong", true);
      return form(model, request);
    }
  }

  @PostMapping("/logout")
  String signOut(HttpServletResponse response) {
    cookie.write(Session.EMPTY, response);
    return "redirect:/";
  }
}
