package io.patternbench.cinema.cinema;

import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.concurrent.TimeUnit;
import org.springframework.dao.DataAccessException;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.stereotype.Component;

/**
 * The series {@code cinema_reservations_stored}: rows of the table, or NaN while the database does
 * not say. They are counted by a thread of their own, so a database that hangs holds up no scrape.
 */
@Component
class StoredReservations {
  private final ReservationRepository reservations;
  private volatile double stored = Double.NaN;

  StoredReservations(ReservationRepository reservations, MeterRegistry meters) {
    this.reservations = reservations;
    Gauge.builder("cinema.reservations.stored", this, now -> now.stored)
        .description("Reservations in the database")
        .register(meters);
  }

  @Scheduled(fixedDelay = 1, timeUnit = TimeUnit.SECONDS)
  void count() {
    try {
      stored = reservations.count();
    } catch (DataAccessException away) {
      stored = Double.NaN;
    }
  }
}
