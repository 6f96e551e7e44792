package io.patternbench.cinema.cinema.http;

import io.patternbench.cinema.cinema.CinemaService;
import io.patternbench.cinema.commons.Reservation;
import io.patternbench.cinema.commons.ReservationIds;
import jakarta.validation.Valid;
import java.util.List;
import org.springframework.context.annotation.Profile;
import org.springframework.http.HttpStatus;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestHeader;
import org.springframework.web.bind.annotation.RequestMapping;
import org.springframework.web.bind.annotation.ResponseStatus;
import org.springframework.web.bind.annotation.RestController;

@RestController
@Profile("by-http")
@RequestMapping("/reservation")
class ReservationController {
  private final CinemaService cinema;

  ReservationController(CinemaService cinema) {
    this.cinema = cinema;
  }

  @PostMapping("/make")
  @ResponseStatus(HttpStatus.CREATED)
  Reservation make(
      @Valid @RequestBody Reservation asked,
      @RequestHeader(name = ReservationIds.KEY_HEADER, required = false) String key) {
    return cinema.make(asked.withId(ReservationIds.of(cinema.name(), key)));
  }

  @GetMapping("/list")
  List<Reservation> list() {
    return cinema.reservations();
  }

  @GetMapping("/delay/{seconds}")
  String delay(@PathVariable int seconds) {
    return Delay.of(seconds);
  }
}
