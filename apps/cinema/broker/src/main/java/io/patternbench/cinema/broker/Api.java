package io.patternbench.cinema.broker;

import org.springframework.http.MediaType;
import org.springframework.http.ResponseEntity;

/** What both controllers have on the wire. */
final class Api {
  /** A client's own secret, which binds a correlation id to it. */
  static final String TOKEN = "Client-Token";

  /** How many answers have come, and how many are expected, as {@code 2/3}. */
  static final String ANSWERS = "Answers";

  private Api() {}

  /** A correlation id as text, whatever the client would rather accept. */
  static ResponseEntity<String> text(String id) {
    return ResponseEntity.ok().contentType(MediaType.TEXT_PLAIN).body(id);
  }
}
