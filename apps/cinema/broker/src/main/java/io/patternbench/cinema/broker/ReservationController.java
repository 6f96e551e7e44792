package io.patternbench.cinema.broker;

import io.patternbench.cinema.commons.Reservation;
import io.patternbench.cinema.commons.ReservationIds;
import io.patternbench.cinema.messages.Request;
import io.patternbench.cinema.messages.Request.Endpoint;
import jakarta.validation.Valid;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestHeader;
import org.springframework.web.bind.annotation.RequestMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;

@RestController
@RequestMapping("/api/cinema/{cinema}/reservation")
class ReservationController {
  private final Asking asking;
  private final Fetching fetching;

  ReservationController(Asking asking, Fetching fetching) {
    this.asking = asking;
    this.fetching = fetching;
  }

  @PostMapping("/make")
  ResponseEntity<String> make(
      @PathVariable String cinema,
      @Valid @RequestBody Reservation asked,
      @RequestHeader(name = ReservationIds.KEY_HEADER, required = false) String key,
      @RequestHeader(name = Api.TOKEN, required = false) String token) {
    Reservation reservation = asked.withId(ReservationIds.of(cinema, key));
    return Api.text(asking.one(made(cinema), cinema, Request.toMake(reservation), token));
  }

  @GetMapping("/make/{id}")
  Object made(
      @PathVariable String cinema,
      @PathVariable String id,
      @RequestParam(required = false) String fetch,
      @RequestHeader(name = Api.TOKEN, required = false) String token) {
    return fetching.fetch(asking.opened(id, made(cinema), token), Form.ONE, fetch);
  }

  @GetMapping("/list")
  ResponseEntity<String> list(
      @PathVariable String cinema,
      @RequestHeader(name = Api.TOKEN, required = false) String token) {
    return Api.text(
        asking.one(listed(cinema), cinema, Request.of(Endpoint.LIST_RESERVATIONS), token));
  }

  @GetMapping("/list/{id}")
  Object listed(
      @PathVariable String cinema,
      @PathVariable String id,
      @RequestParam(required = false) String fetch,
      @RequestHeader(name = Api.TOKEN, required = false) String token) {
    return fetching.fetch(asking.opened(id, listed(cinema), token), Form.ONE, fetch);
  }

  private static String made(String cinema) {
    return "reservation of " + cinema;
  }

  private static String listed(String cinema) {
    return "reservations of " + cinema;
  }
}
