package io.patternbench.cinema.gateway;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.springframework.security.oauth2.jwt.JwtException;

class TokensTest {
  @Test
  void gatewaysWithTheSameSecretTakeEachOthersTokens() {
    String token = new Tokens("a secret of both").signed();
    assertThat(new Tokens("a secret of both").checked(token).block().getSubject())
        .isEqualTo("visitor");
  }

  @Test
  void aGatewayWithAnotherSecretTakesNone() {
    String token = new Tokens("a secret").signed();
    assertThatThrownBy(() -> new Tokens("another").checked(token).block())
        .isInstanceOf(JwtException.class);
  }

  @Test
  void gatewaysWithoutASecretHaveKeysOfTheirOwn() {
    Tokens one = new Tokens("");
    String token = one.signed();
    assertThat(one.checked(token).block().getSubject()).isEqualTo("visitor");
    assertThatThrownBy(() -> new Tokens("").checked(token).block())
        .isInstanceOf(JwtException.class);
  }
}
