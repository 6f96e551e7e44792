package io.patternbench.shop.commons.wire;

import com.fasterxml.jackson.annotation.JsonIgnore;
import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import com.fasterxml.jackson.annotation.JsonInclude;
import java.util.List;

/**
 * All that the shop knows of a visitor. The visitor keeps it and sends it back whole, so no service
 * has to.
 *
 * @param uid the user's id; null for a visitor who is not signed in
 * @param sid of the session: when it began, and chance
 * @param token the signature over all of it
 */
@JsonIgnoreProperties(ignoreUnknown = true)
@JsonInclude(JsonInclude.Include.NON_NULL)
public record Session(
    Long uid, String sid, String token, List<OrderItem> orderItems, String message) {
  public static final Session EMPTY = new Session(null, null, null, List.of(), null);

  public Session {
    orderItems = orderItems == null ? List.of() : List.copyOf(orderItems);
  }

  /** Whether there is nothing in it that a signature would have to vouch for. */
  @JsonIgnore
  public boolean isEmpty() {
    return uid == null && orderItems.isEmpty();
  }
}
