package io.patternbench.cinema.gateway;

import org.springframework.http.HttpStatus;
import org.springframework.http.MediaType;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.RequestMapping;
import org.springframework.web.bind.annotation.ResponseStatus;
import org.springframework.web.bind.annotation.RestController;

/** Answers for a service whose breaker is open, which is too slow, or is not there. */
@RestController
class Fallback {
  static final String PATH = "/fallback/";

  /** Whatever the method: a reservation falls back as a list does. */
  @RequestMapping(path = PATH + "{service:[a-z0-9-]+}", produces = MediaType.TEXT_PLAIN_VALUE)
  @ResponseStatus(HttpStatus.INTERNAL_SERVER_ERROR)
  String of(@PathVariable String service) {
    return "Fallback: Circuit broken in %s!".formatted(service);
  }
}
