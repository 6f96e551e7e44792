package io.patternbench.insurance.commons.security;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import org.junit.jupiter.api.Test;
import org.springframework.security.oauth2.jwt.JwtException;

class TokensTest {
  private static final Instant NOW = Instant.parse("2026-01-05T10:00:00Z");
  private static final Caller ADA = new Caller("c000000001", Role.CUSTOMER);

  @Test
  void whatIsSignedIsTheCaller() {
    assertThat(Caller.of(tokens("a", NOW).decoder().decode(tokens("a", NOW).sign(ADA))))
        .isEqualTo(ADA);
  }

  @Test
  void aTokenOfAnotherSecretIsRefused() {
    assertRefused(tokens("a", NOW).sign(ADA), tokens("b", NOW));
  }

  @Test
  void aTokenThatSomebodyChangedIsRefused() {
    String[] parts = tokens("a", NOW).sign(ADA).split("\\.");
    String other = tokens("a", NOW).sign(new Caller("c000000002", Role.EMPLOYEE)).split("\\.")[1];
    assertRefused(parts[0] + "." + other + "." + parts[2], tokens("a", NOW));
  }

  @Test
  void anOldTokenIsRefused() {
    assertRefused(tokens("a", NOW).sign(ADA), tokens("a", NOW.plus(Duration.ofHours(2))));
  }

  @Test
  void customersOwnWhatIsTheirsAndEmployeesWhatIsAnybodys() {
    ADA.mustOwn("c000000001");
    new Caller("e000000001", Role.EMPLOYEE).mustOwn("c000000001");
    assertThatThrownBy(() -> ADA.mustOwn("c000000002")).hasMessageContaining("403");
    assertThatThrownBy(() -> ADA.mustOwn(null)).hasMessageContaining("403");
  }

  private static void assertRefused(String token, Tokens by) {
    assertThatThrownBy(() -> by.decoder().decode(token)).isInstanceOf(JwtException.class);
  }

  private static Tokens tokens(String letter, Instant now) {
    return new Tokens(
        new TokenProperties(letter.repeat(32), Duration.ofHours(1)),
        Clock.fixed(now, ZoneOffset.UTC));
  }
}
