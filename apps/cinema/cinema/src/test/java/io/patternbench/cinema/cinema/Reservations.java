package io.patternbench.cinema.cinema;

import io.patternbench.cinema.commons.Reservation;
import java.math.BigDecimal;
import java.time.LocalDate;
import java.util.UUID;

/** Reservations for tests. */
final class Reservations {
  /** As Banerjee (2022) prints it, but for the address. */
  static final String JANE =
      """
      {"clientName": "Jane Doe", "clientEmail": "jane.doe@example.org", "movieId": "CNW001",
       "date": "2022-04-15", "showTime": "18:00", "tickets": 2, "ticketType": "Gold",
       "amount": 30.00}""";

  private Reservations() {}

  static Reservation of(UUID id, String movie) {
    return new Reservation(
        id,
        "Jane Doe",
        "jane.doe@example.org",
        movie,
        LocalDate.of(2022, 4, 15),
        "18:00",
        2,
        "Gold",
        new BigDecimal("30.00"));
  }
}
