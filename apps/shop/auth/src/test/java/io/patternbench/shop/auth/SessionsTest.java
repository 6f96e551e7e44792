package io.patternbench.shop.auth;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.patternbench.shop.commons.wire.OrderItem;
import io.patternbench.shop.commons.wire.Session;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class SessionsTest {
  private static final Instant NOW = Instant.parse("2026-01-01T00:00:00Z");
  private static final String SECRET = "0123456789012345678901234567890123456789";
  private static final List<OrderItem> ITEMS = List.of(OrderItem.inCart(7, 2, 500));
  private static final Session SIGNED = at(NOW, SECRET).with(ITEMS, signedIn());

  private static Sessions at(Instant now, String secret) {
    SessionProperties properties = new SessionProperties(secret, Duration.ofHours(12));
    return new Sessions(properties, Clock.fixed(now, ZoneOffset.UTC));
  }

  private static Session signedIn() {
    return at(NOW, SECRET).signedIn(3, Session.EMPTY);
  }

  @Test
  void anyInstanceKnowsASessionByItsSignature() {
    assertThat(at(NOW.plusSeconds(60), SECRET).checked(SIGNED)).isEqualTo(SIGNED);
  }

  @Test
  void whoPlantedASessionDoesNotShareItAfterTheSignIn() {
    Session planted = at(NOW, SECRET).with(ITEMS, Session.EMPTY);
    Session signedIn = at(NOW, SECRET).signedIn(3, planted);
    assertThat(signedIn.sid()).isNotEqualTo(planted.sid());
    assertThat(signedIn.orderItems()).isEqualTo(ITEMS);
    assertThat(at(NOW, SECRET).checked(planted).uid()).isNull();
  }

  @Test
  void anEmptySessionNeedsNoSignature() {
    Sessions sessions = at(NOW, SECRET);
    assertThat(sessions.checked(null)).isEqualTo(Session.EMPTY);
    assertThat(sessions.checked(new Session(null, "x", "y", null, "hello")))
        .isEqualTo(Session.EMPTY);
  }

  static Stream<Session> changed() {
    String sid = SIGNED.sid();
    String token = SIGNED.token();
    return Stream.of(
        new Session(4L, sid, token, ITEMS, null),
        new Session(null, sid, token, ITEMS, null),
        new Session(3L, sid + "0", token, ITEMS, null),
        new Session(3L, sid, token.substring(1), ITEMS, null),
        new Session(3L, sid, null, ITEMS, null),
        new Session(3L, null, token, ITEMS, null),
        new Session(3L, sid, token, List.of(), null),
        new Session(3L, sid, token, List.of(OrderItem.inCart(7, 2, 1)), null),
        new Session(3L, sid, token, List.of(OrderItem.inCart(7, 1, 500)), null),
        new Session(3L, sid, token, List.of(OrderItem.inCart(8, 2, 500)), null));
  }

  @ParameterizedTest
  @MethodSource("changed")
  void aSessionThatWasChangedIsRefused(Session session) {
    assertThatThrownBy(() -> at(NOW, SECRET).checked(session)).hasMessageContaining("401");
  }

  @Test
  void aSessionThatAnotherSecretSignedIsRefused() {
    assertThatThrownBy(() -> at(NOW, SECRET.replace('0', '1')).checked(SIGNED))
        .hasMessageContaining("401");
  }

  @Test
  void aSessionIsOverAfterItsTime() {
    Instant last = NOW.plus(Duration.ofHours(12)).minusSeconds(1);
    assertThat(at(last, SECRET).checked(SIGNED)).isEqualTo(SIGNED);
    assertThatThrownBy(() -> at(last.plusSeconds(1), SECRET).checked(SIGNED))
        .hasMessageContaining("401");
  }

  @Test
  void aCartBeforeSigningInIsKept() {
    Sessions sessions = at(NOW, SECRET);
    Session visitor = sessions.with(ITEMS, Session.EMPTY);
    assertThat(sessions.signedIn(3, sessions.checked(visitor)).orderItems()).isEqualTo(ITEMS);
  }
}
