package io.patternbench.cinema.gateway;

import java.util.Map;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;

/** Gives a token to whoever asks. */
@RestController
class SignIn {
  static final String PATH = "/token";

  private final Tokens tokens;

  SignIn(Tokens tokens) {
    this.tokens = tokens;
  }

  @GetMapping(PATH)
  Map<String, String> token() {
    return Map.of("token", tokens.signed());
  }
}
