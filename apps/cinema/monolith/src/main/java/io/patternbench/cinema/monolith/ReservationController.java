package io.patternbench.cinema.monolith;

import io.patternbench.cinema.commons.Reservation;
import io.patternbench.cinema.commons.ReservationIds;
import jakarta.validation.Valid;
import java.util.List;
import org.springframework.http.HttpStatus;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestHeader;
import org.springframework.web.bind.annotation.RequestMapping;
import org.springframework.web.bind.annotation.ResponseStatus;
import org.springframework.web.bind.annotation.RestController;

/** Reservations at one of the cinemas. */
@RestController
@RequestMapping("/cinema/{name}/reservation")
class ReservationController {
  private final Cinemas cinemas;

  ReservationController(Cinemas cinemas) {
    this.cinemas = cinemas;
  }

  @PostMapping("/make")
  @ResponseStatus(HttpStatus.CREATED)
  Reservation make(
      @PathVariable String name,
      @Valid @RequestBody Reservation asked,
      @RequestHeader(name = ReservationIds.KEY_HEADER, required = false) String key) {
    return cinemas.of(name).make(asked.withId(ReservationIds.of(name, key)));
  }

  @GetMapping("/list")
  List<Reservation> list(@PathVariable String name) {
    return cinemas.of(name).reservations();
  }
}
