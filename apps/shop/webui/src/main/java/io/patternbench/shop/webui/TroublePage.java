package io.patternbench.shop.webui;

import io.patternbench.shop.commons.wire.Session;
import jakarta.servlet.http.HttpServletResponse;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.Order;
import org.springframework.ui.Model;
import org.springframework.web.bind.annotation.ControllerAdvice;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.client.HttpClientErrorException;
import org.springframework.web.client.RestClientException;

/** Says on a page what a person can do when another service refuses, or does not answer. */
@ControllerAdvice
@Order(Ordered.HIGHEST_PRECEDENCE)
class TroublePage {
  private static final Logger LOG = LoggerFactory.getLogger(TroublePage.class);

  private final SessionCookie cookie;

  TroublePage(SessionCookie cookie) {
    this.cookie = cookie;
  }

  @ExceptionHandler(HttpClientErrorException.NotFound.class)
  String missing(Model model, HttpServletResponse response) {
    return page(model, response, 404, "That is not on our shelves.");
  }

  /** A session that auth does not take is of no use to anybody, so the browser forgets it. */
  @ExceptionHandler(HttpClientErrorException.Unauthorized.class)
  String signedOut(Model model, HttpServletResponse response) {
    cookie.write(Session.EMPTY, response);
    return page(model, response, 401, "Please sign in once more.");
  }

  @ExceptionHandler(HttpClientErrorException.BadRequest.class)
  String refused(Model model, HttpServletResponse response) {
    return page(model, response, 400, "We cannot do that: see what you have entered.");
  }

  @ExceptionHandler(RestClientException.class)
  String away(RestClientException e, Model model, HttpServletResponse response) {
    LOG.warn("a page cannot be shown: {}", e.getMessage());
    return page(model, response, 503, "A part of the shop does not answer. Please try again.");
  }

  private static String page(Model model, HttpServletResponse response, int status, String text) {
    response.setStatus(status);
    model.addAttribute("text", text);
    return "trouble";
  }
}
