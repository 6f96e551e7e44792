package io.patternbench.shop.webui;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.patternbench.shop.commons.wire.Session;
import jakarta.servlet.http.Cookie;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Base64;
import java.util.stream.Stream;
import org.springframework.http.HttpHeaders;
import org.springframework.http.ResponseCookie;
import org.springframework.stereotype.Component;

/**
 * The visitor's session, which his browser keeps.
 *
 * <p>No other site can send it along with a form ({@code SameSite=Lax}), and no script reads it.
 */
@Component
class SessionCookie {
  private static final String NAME = "session";

  private final ObjectMapper json;

  SessionCookie(ObjectMapper json) {
    this.json = json;
  }

  /** The session that the browser has sent; an empty one if that can't be read. */
  Session read(HttpServletRequest request) {
    Cookie[] cookies = request.getCookies();
    return Stream.of(cookies == null ? new Cookie[0] : cookies)
        .filter(cookie -> cookie.getName().equals(NAME))
        .map(cookie -> read(cookie.getValue()))
        .findFirst()
        .orElse(Session.EMPTY);
  }

  private Session read(String value) {
    try {
      return json.readValue(Base64.getUrlDecoder().decode(value), Session.class);
    } catch (IOException | IllegalArgumentException unreadable) {
      return Session.EMPTY;
    }
  }

  void write(Session session, HttpServletResponse response) {
    ResponseCookie cookie =
        ResponseCookie.from(NAME, written(session))
            .path("/")
            .httpOnly(true)
            .sameSite("Lax")
            .build();
    response.addHeader(HttpHeaders.SET_COOKIE, cookie.toString());
  }

  private String written(Session session) {
    try {
      return Base64.getUrlEncoder()
          .withoutPadding()
          .encodeToString(json.writeValueAsBytes(session));
    } catch (JsonProcessingException e) {
      throw new UncheckedIOException(e);
    }
  }
}
