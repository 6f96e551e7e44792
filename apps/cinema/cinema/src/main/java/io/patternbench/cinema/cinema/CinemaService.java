package io.patternbench.cinema.cinema;

import io.patternbench.apps.commons.Problems;
import io.patternbench.cinema.commons.Cinema;
import io.patternbench.cinema.commons.Movie;
import io.patternbench.cinema.commons.MovieQuery;
import io.patternbench.cinema.commons.Reservation;
import java.time.Duration;
import java.util.List;
import org.springframework.dao.DataIntegrityViolationException;
import org.springframework.stereotype.Service;

/** What a cinema does, whichever way it is asked. Each method is one call of the database. */
@Service
public class CinemaService {
  private final String name;
  private final MovieRepository movies;
  private final ReservationRepository reservations;
  private final DelaySettings delay;

  CinemaService(
      CinemaProperties properties,
      MovieRepository movies,
      ReservationRepository reservations,
      DelaySettings delay) {
    this.name = properties.name();
    this.movies = movies;
    this.reservations = reservations;
    this.delay = delay;
  }

  public String name() {
    return name;
  }

  /** From now on every request takes so much longer; returns the delay. */
  public Duration slowDown(Duration longer) {
    return delay.change(longer).delay();
  }

  public Cinema movies() {
    delay.pass();
    return Cinema.of(name, movies.all());
  }

  public Cinema find(MovieQuery query) {
    delay.pass();
    List<Movie> fitting = movies.all().stream().filter(query::fits).toList();
    return Cinema.of(name, fitting);
  }

  public List<Reservation> reservations() {
    delay.pass();
    return reservations.newest();
  }

  /** Stores a reservation under its id; asked again, it returns what is stored. */
  public Reservation make(Reservation reservation) {
    delay.pass();
    Reservation stored = save(reservation);
    if (!stored.equals(reservation)) {
      throw Problems.unprocessable("there is another reservation under this Idempotency-Key");
    }
    return stored;
  }

  private Reservation save(Reservation reservation) {
    try {
      return reservations.save(reservation);
    } catch (DataIntegrityViolationException noSuchMovie) {
      throw Problems.unprocessable("%s shows no movie %s".formatted(name, reservation.movieId()));
    }
  }
}
