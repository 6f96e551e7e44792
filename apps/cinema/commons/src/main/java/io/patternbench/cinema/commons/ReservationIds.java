package io.patternbench.cinema.commons;

import java.nio.charset.StandardCharsets;
import java.util.UUID;

/** Ids of reservations. A key makes a reservation repeatable: the same key gives the same id. */
public final class ReservationIds {
  /** As in the IETF's draft of that name. */
  public static final String KEY_HEADER = "Idempotency-Key";

  private ReservationIds() {}

  /**
   * The id of a new reservation.
   *
   * @param key the client's idempotency key; null for none
   */
  public static UUID of(String cinema, String key) {
    return key == null
        ? UUID.randomUUID()
        : UUID.nameUUIDFromBytes((cinema + "/" + key).getBytes(StandardCharsets.UTF_8));
  }
}
