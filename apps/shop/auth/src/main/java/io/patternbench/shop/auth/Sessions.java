package io.patternbench.shop.auth;

import io.patternbench.apps.commons.Problems;
import io.patternbench.shop.commons.wire.OrderItem;
import io.patternbench.shop.commons.wire.Session;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.time.Clock;
import java.time.Instant;
import java.util.HexFormat;
import java.util.List;
import java.util.UUID;
import java.util.stream.Collectors;
import javax.crypto.Mac;
import org.springframework.stereotype.Component;

/**
 * Signs sessions and checks them. Every instance has the secret, so any instance knows any session.
 */
@Component
class Sessions {
  private final SessionProperties properties;
  private final Clock clock;

  Sessions(SessionProperties properties, Clock clock) {
    this.properties = properties;
    this.clock = clock;
  }

  /** The session of a user who has logged in, with the cart from before. */
  Session signedIn(long uid, Session before) {
    return signed(uid, newId(), before.orderItems());
  }

  /** The same session with other things in its cart. */
  Session with(List<OrderItem> items, Session session) {
    return signed(session.uid(), session.sid() == null ? newId() : session.sid(), items);
  }

  /**
   * What a visitor has sent back, if it is as it was signed; a visitor without one gets an empty
   * one.
   *
   * @throws org.springframework.web.ErrorResponseException 401 if it was changed, or is too old
   */
  Session checked(Session sent) {
    if (sent == null || sent.isEmpty()) {
      return Session.EMPTY;
    }
    if (!isSigned(sent)) {
      throw Problems.unauthorized("this session is not as it was signed: sign in again");
    }
    if (!isOfToday(sent)) {
      throw Problems.unauthorized("this session is over: sign in again");
    }
    return sent;
  }

  private boolean isSigned(Session sent) {
    return sent.sid() != null
        && sent.token() != null
        && MessageDigest.isEqual(
            bytes(sent.token()), bytes(token(sent.uid(), sent.sid(), sent.orderItems())));
  }

  private boolean isOfToday(Session signed) {
    long began = Long.parseLong(signed.sid().substring(0, signed.sid().indexOf('-')));
    return clock.instant().isBefore(Instant.ofEpochSecond(began).plus(properties.validFor()));
  }

  private Session signed(Long uid, String sid, List<OrderItem> items) {
    return new Session(uid, sid, token(uid, sid, items), items, null);
  }

  /** When the session began, and chance. */
  private String newId() {
    return clock.instant().getEpochSecond() + "-" + UUID.randomUUID();
  }

  private String token(Long uid, String sid, List<OrderItem> items) {
    try {
      Mac mac = Mac.getInstance(SessionProperties.ALGORITHM);
      mac.init(properties.key());
      return HexFormat.of().formatHex(mac.doFinal(bytes(uid + "|" + sid + "|" + written(items))));
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException(e);
    }
  }

  /** All of a cart that counts, in one text for one cart. */
  private static String written(List<OrderItem> items) {
    return items.stream()
        .map(i -> i.productId() + "x" + i.quantity() + "@" + i.unitPriceInCents())
        .collect(Collectors.joining(","));
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }
}
