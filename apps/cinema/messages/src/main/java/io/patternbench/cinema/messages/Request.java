package io.patternbench.cinema.messages;

import com.fasterxml.jackson.annotation.JsonProperty;
import io.patternbench.cinema.commons.Reservation;

/**
 * What the broker asks of a cinema; the correlation id is the message's own property.
 *
 * @param body the reservation to make, with its id; null with the other endpoints
 */
public record Request(Endpoint endpoint, Reservation body) {
  /** What a cinema can be asked, by the path that it has over HTTP. */
  public enum Endpoint {
    @JsonProperty("/movie/list")
    LIST_MOVIES,
    @JsonProperty("/reservation/list")
    LIST_RESERVATIONS,
    @JsonProperty("/reservation/make")
    MAKE_RESERVATION
  }

  public static Request of(Endpoint endpoint) {
    return new Request(endpoint, null);
  }

  public static Request toMake(Reservation reservation) {
    return new Request(Endpoint.MAKE_RESERVATION, reservation);
  }
}
